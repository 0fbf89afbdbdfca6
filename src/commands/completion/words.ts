// The words that fit behind a flag or as an argument: lists of the interface, of the formats, of the settings.

import type { CommandUnknownOpts as Command, Option } from '@commander-js/extra-typings';
import { ALERT_FIELDS, ALERT_STATES, ALERT_TYPES, ALERTS_PATH } from '../../api/alert.js';
import { BICYCLE_FIELDS, BICYCLE_STATES, BICYCLES_PATH, TRANSITIONS } from '../../api/bicycle.js';
import { SENDERS } from '../../api/push.js';
import { pathOf } from '../../cli/help.js';
import { findBelow } from '../../cli/line.js';
import { findKey, KEY_NAMES, KEYS } from '../../settings/keys.js';
import { FORMATS } from '../../terminal/formats.js';
import { TOPICS } from '../help/names.js';
import { SHELLS } from './shells.js';

/** One word to offer. */
export interface Offer {
  value: string;
  /** What it is, for the shells that show it. */
  description?: string;
}

export interface Offers {
  words: readonly Offer[];
  /** Files fit as well. */
  isFile?: boolean;
  /** Something follows the word in the same place: no space behind it. */
  isOpen?: boolean;
  /** Words with commas between may stand there. */
  isList?: boolean;
}

/** What the words depend on besides the program. */
export interface Sources {
  profiles(): Promise<readonly Offer[]>;
  organizations(): Promise<readonly Offer[]>;
  bicycles(): Promise<readonly Offer[]>;
}

const NOTHING: Offers = { words: [] };

function plain(values: readonly string[]): Offer[] {
  return values.map((value) => ({ value }));
}

/** `field` and `-field`, the latter only where somebody began with the sign: there are many. */
function orderings(fields: readonly string[], typed: string): Offer[] {
  return typed.startsWith('-')
    ? fields.map((field) => ({ value: `-${field}`, description: 'descending' }))
    : plain(fields);
}

function fieldsOf(path: string): readonly string[] {
  return path.startsWith('fleet alerts') ? ALERT_FIELDS : BICYCLE_FIELDS;
}

/** `FIELD=`, and behind `state=` the states: what `--where` and `--until` take. */
function conditions(path: string, typed: string): Offers {
  const [, field, operator] = /^([^=!<>~]+)(!?=)/.exec(typed) ?? [];
  if (field === undefined || operator === undefined) {
    return { words: fieldsOf(path).map((name) => ({ value: `${name}=` })), isOpen: true };
  }
  const isAlert = path.startsWith('fleet alerts');
  const lists: { readonly [name: string]: readonly string[] } = {
    state: isAlert ? ALERT_STATES : BICYCLE_STATES,
    alert_type: ALERT_TYPES,
    sender: SENDERS,
  };
  return { words: plain((lists[field] ?? []).map((value) => `${field}${operator}${value}`)) };
}

/** Kinds of faults as `fleet sandbox` takes them. */
const FAULTS = ['latency=200ms', 'error=503:5%', 'cut=5%', 'drop=30s', 'stall=30s', 'expire=60s'];

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** The words for the value of a flag. `typed` is what stands there so far. */
export async function offerValue(option: Option, command: Command, typed: string, from: Sources): Promise<Offers> {
  const path = pathOf(command);
  if (option.argChoices !== undefined) return { words: plain(option.argChoices) };
  if (/\bfile\b/i.test(option.flags)) return { words: [], isFile: true };
  switch (option.long) {
    case '--output':
      return { words: plain(FORMATS) };
    case '--columns':
      return { words: plain(fieldsOf(path)), isList: true };
    case '--profile':
      return { words: await from.profiles() };
    case '--ordering':
      return { words: orderings(fieldsOf(path), typed) };
    case '--state':
      return { words: plain(ALERT_STATES), isList: true };
    case '--type':
      return { words: plain(ALERT_TYPES), isList: true };
    case '--sender':
      return { words: plain(SENDERS) };
    case '--where':
    case '--until':
      return conditions(path, typed);
    case '--organization':
      return { words: await from.organizations() };
    case '--bicycle':
      return { words: await from.bicycles() };
    case '--fault':
      return { words: plain(FAULTS) };
    case '--method':
      return { words: plain(METHODS) };
    default:
      return NOTHING;
  }
}

/** The words for the next operand of a command that has these already. */
export async function offerOperand(
  command: Command,
  operands: readonly string[],
  typed: string,
  from: Sources,
): Promise<Offers> {
  const first = operands.length === 0;
  switch (pathOf(command)) {
    case 'fleet bicycles act':
      return offerAction(operands, typed, from);
    case 'fleet watch':
      return first ? { words: await from.organizations() } : NOTHING;
    case 'fleet api':
      return first ? { words: plain([BICYCLES_PATH, ALERTS_PATH]), isOpen: true } : NOTHING;
    case 'fleet config get':
    case 'fleet config unset':
      return first ? { words: KEY_OFFERS } : NOTHING;
    case 'fleet config set':
      return first ? { words: KEY_OFFERS } : operands.length === 1 ? offerSetting(operands[0] ?? '', from) : NOTHING;
    case 'fleet profile use':
    case 'fleet profile delete':
      return first ? { words: await from.profiles() } : NOTHING;
    case 'fleet completion':
      return first ? { words: plain(SHELLS) } : NOTHING;
    case 'fleet help':
      return offerPages(command, operands);
    default:
      return NOTHING;
  }
}

const KEY_OFFERS: readonly Offer[] = KEY_NAMES.map((name) => ({ value: name, description: KEYS[name].summary }));

const TRANSITION_OFFERS = plain(TRANSITIONS);

/** UUIDs until there is one, then transitions; more UUIDs for one who begins to type one. */
async function offerAction(operands: readonly string[], typed: string, from: Sources): Promise<Offers> {
  if (operands.some((operand) => (TRANSITIONS as readonly string[]).includes(operand))) return NOTHING;
  if (operands.length > 0 && !/^[0-9a-f]*[0-9][0-9a-f-]*$/i.test(typed)) return { words: TRANSITION_OFFERS };
  const taken = new Set(operands);
  return { words: (await from.bicycles()).filter(({ value }) => !taken.has(value)) };
}

async function offerSetting(key: string, from: Sources): Promise<Offers> {
  const name = findKey(key);
  if (name === 'output') return { words: plain(FORMATS) };
  if (name === 'organization') return { words: await from.organizations() };
  return name === 'allow_http' || name === 'protected' ? { words: plain(['true', 'false']) } : NOTHING;
}

/** The commands below the one that the words name so far, and on the first place the topics. */
function offerPages(help: Command, operands: readonly string[]): Offers {
  let at = help.parent ?? help;
  for (const operand of operands) at = findBelow(at, operand) ?? help;
  const pages = at.createHelp().visibleCommands(at).map(offerCommand);
  const topics = Object.entries(TOPICS).map(([value, description]) => ({ value, description }));
  return { words: operands.length === 0 ? [...pages, ...topics] : pages };
}

export function offerCommand(command: Command): Offer {
  return { value: command.name(), description: command.summary() };
}
