// Runs the sessions of README and guides with the runner of the transcripts. Readers see real times
// and addresses there instead of placeholders, so that only their forms are compared.

import { expect } from 'vitest';
import type { Step as TypingStep } from '../shell.js';
import { FORMS, patternFor, type Values } from './forms.js';
import type { Step } from './parse.js';
import { startCommand } from './terminals.js';
import type { Scene } from './transcript.js';

/** The size of the terminal that README shows. */
const SIZE = { columns: 100, rows: 40 };

/** The kinds of values that differ between runs, in the order in which they are looked for. */
const LOOSE = ['timestamp', 'age', 'duration'];

/** Addresses and paths that README shows, and what they stand for. */
const SHOWN: readonly (readonly [shown: string, variable: string])[] = [
  ['https://bikes.example.com/api', '<service>'],
  ['https://push.example.com', '<push>'],
  ['http://127.0.0.1:4010', '<service>'],
  ['~/.config/fleet', '<home>/settings'],
];

/** Runs the command of a step on a terminal, and compares the shown output with the real output. */
export async function checkGuideStep(
  scene: Scene,
  { path, step }: GuideStep,
  typing: readonly TypingStep[] = [],
): Promise<void> {
  const { action, expected, line: lineNumber } = step;
  if (action.kind !== 'run') throw new Error('a guide only shows commands');
  const line = action.command.replace('http://127.0.0.1:4010', scene.values.get('service') ?? '');
  const command = startCommand(scene, line, {
    stdin: undefined,
    isBuilt: true,
    terminal: SIZE,
  });
  let seenTo = 0;
  for (const { when, press } of typing) {
    await command.until(() => when.test(command.stdout().slice(seenTo)));
    seenTo = command.stdout().length;
    command.press(press);
  }
  await command.until(() => false);
  const { unbroken = [] } = (await command.screen?.read()) ?? {};
  command.screen?.close();
  const actual = oneLine(unbroken);
  const shown = loosen(oneLine(expected));
  if (guidePattern(shown, scene.values).test(actual)) return;
  const real = unbroken
    .map((each) => asShown(each, scene.values))
    .join('\n')
    .trimEnd();
  expect(
    real,
    `${path}:${lineNumber}: the output differs after: $ ${action.command}\nWrite the received lines into ${path}; "…" stands for lines that it does not show.`,
  ).toBe(expected.join('\n'));
}

/** A command of README or a guide. */
export interface GuideStep {
  path: string;
  step: Step;
}

/** Returns a line of real output with the addresses and paths that README shows. */
function asShown(line: string, values: Values): string {
  let shown = line;
  // Two addresses stand for the service. Most commands show the first one, so it is used.
  for (const [address, variable] of SHOWN) {
    const [, name = '', rest = ''] = /^<(\w+)>(.*)$/.exec(variable) ?? [];
    const value = values.get(name);
    if (value !== undefined) shown = shown.replaceAll(`${value}${rest}`, address);
  }
  return shown;
}

/** Line breaks depend on the length of addresses. */
function oneLine(lines: readonly string[]): string {
  return lines.join(' ').replace(/\s+/g, ' ').trim();
}

function loosen(text: string): string {
  let loose = text;
  for (const [shown, variable] of SHOWN) loose = loose.replaceAll(shown, variable);
  for (const form of LOOSE)
    loose = loose.replace(new RegExp(`(?<!\\w)${FORMS[form]}(?!\\w)`, 'g'), `<${form}>`);
  return loose;
}

/** `…` stands for lines that a guide does not show. */
function guidePattern(shown: string, values: Values): RegExp {
  const parts = shown.split(' … ').map((part) => patternFor(part, values).source);
  return new RegExp(`^${parts.join('[^]*')}$`);
}
