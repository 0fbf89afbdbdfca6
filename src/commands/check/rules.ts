// Parses the rules file of `fleet check`. Every error states its line number in the file.

import { BICYCLE, BICYCLE_STATES } from '../../api/bicycle.js';
import { nearest } from '../../cli/nearest.js';
import { FleetError, reasonOf, usageError } from '../../errors.js';
import { type Condition, checkCondition, parseCondition } from '../../list/where.js';
import { clean } from '../../terminal/clean.js';
import { type LinedMap, type LinedValue, readYamlWithLines } from '../../terminal/formats/yaml.js';
import { parseDuration } from '../../terminal/time.js';
import type { LatLon } from '../../views/distance.js';
import { type Box, parseBbox, parseNear, parseRadius } from '../bicycles/area.js';

/**
 * The bicycles that a rule selects. The keys have the same names as the flags of `bicycles list`. A
 * bicycle must match all keys.
 */
export interface RuleSelection {
  /** The bicycle is in one of these states. */
  readonly state?: readonly string[];
  /** The bicycle satisfies all of these conditions. */
  readonly where: readonly Condition[];
  /** The bicycle is inside at least one of these zones. Each zone is a name or a UUID. */
  readonly zone?: readonly string[];
  readonly bbox?: Box;
  readonly near?: LatLon;
  readonly radius?: number;
  readonly model?: readonly string[];
  readonly organization?: string;
}

/** A rule of the file. */
export interface Rule {
  readonly name: string;
  readonly line: number;
  readonly selection: RuleSelection;
  readonly min?: number;
  readonly max?: number;
  readonly maxPercent?: number;
  /**
   * The bicycles that `max_percent` refers to as 100 percent. Undefined means all bicycles of the
   * organization.
   */
  readonly of?: RuleSelection;
  /**
   * How long the rule must select a bicycle without interruption before the bicycle counts, in
   * milliseconds.
   */
  readonly forMs?: number;
  /**
   * Whether a bicycle counts as unchanged during a gap in the mirror when its data is the same
   * before and after the gap.
   */
  readonly bridgesGaps: boolean;
  /** How long a new verdict must last before it is reported, in milliseconds. */
  readonly holdMs: number;
}

const SELECTION_KEYS = [
  'state',
  'where',
  'zone',
  'bbox',
  'near',
  'radius',
  'model',
  'organization',
] as const;
const RULE_KEYS = [
  'name',
  ...SELECTION_KEYS,
  'min',
  'max',
  'max_percent',
  'of',
  'for',
  'gaps',
  'hold',
] as const;

/** Parses the text of a rules file in YAML or JSON. `source` is the name of the file in errors. */
export async function parseRules(text: string, source: string): Promise<Rule[]> {
  const root = await readYamlWithLines(text).catch((error: unknown) => {
    throw usageError(`${source} cannot be read: ${clean(reasonOf(error))}`, HINT);
  });
  const refuse = refuserOf(source);
  const top = mapOf(root, refuse, 'the file');
  refuseUnknownKeys(top, ['rules'], refuse);
  const list = top.get('rules');
  if (list === undefined || !Array.isArray(list.value))
    throw refuse(list?.line ?? root.line, 'a list "rules:" is expected');
  // An empty list is refused, because it may be a mistake: a check without rules would always exit
  // with 0.
  if (list.value.length === 0) throw refuse(list.line, 'the list "rules:" is empty');
  const rules = list.value.map((item: LinedValue) => parseRule(item, refuse));
  const names = new Set<string>();
  for (const { name, line } of rules) {
    if (names.has(name)) throw refuse(line, `the name "${clean(name)}" is used twice`);
    names.add(name);
  }
  return rules;
}

const HINT = 'fleet help check shows the form of a rule';

type Refuse = (line: number, message: string, hint?: string) => FleetError;

function refuserOf(source: string): Refuse {
  return (line, message, hint = HINT) => usageError(`line ${line} of ${source}: ${message}`, hint);
}

function mapOf({ value, line }: LinedValue, refuse: Refuse, what: string): LinedMap {
  if (value instanceof Map) return value as LinedMap;
  throw refuse(line, `${what} must be a map with keys`);
}

function refuseUnknownKeys(map: LinedMap, known: readonly string[], refuse: Refuse): void {
  for (const [key, { line }] of map) {
    if (known.includes(key)) continue;
    const meant = nearest(key, known);
    const hint = meant === undefined ? `keys: ${known.join(', ')}` : `did you mean "${meant}"?`;
    throw refuse(line, `unknown key "${clean(key)}"`, hint);
  }
}

function parseRule(item: LinedValue, refuse: Refuse): Rule {
  const map = mapOf(item, refuse, 'a rule');
  refuseUnknownKeys(map, RULE_KEYS, refuse);
  const name = map.get('name');
  if (name === undefined || typeof name.value !== 'string' || name.value.trim() === '')
    throw refuse(name?.line ?? item.line, 'a rule needs a "name"');
  const min = readNumber(map, 'min', refuse);
  const max = readNumber(map, 'max', refuse);
  const maxPercent = readNumber(map, 'max_percent', refuse);
  const forMs = readLength(map, 'for', refuse);
  const of = map.get('of');
  if (of !== undefined && maxPercent === undefined)
    throw refuse(of.line, '"of" works only with "max_percent"');
  const hasLimit = min !== undefined || max !== undefined || maxPercent !== undefined;
  if (!hasLimit && forMs === undefined)
    throw refuse(item.line, 'a rule needs a limit: "min", "max", "max_percent" or "for"');
  if (min !== undefined && max !== undefined && min > max)
    throw refuse(item.line, `"min" ${min} is above "max" ${max}`);
  const gaps = map.get('gaps');
  if (gaps !== undefined && gaps.value !== 'bridge')
    throw refuse(gaps.line, '"gaps" can only be "bridge"');
  // A rule with `for` but without a limit has the limit 0: it is violated when one bicycle has been
  // selected for that long.
  const limit = hasLimit ? max : 0;
  return {
    name: name.value.trim(),
    line: item.line,
    selection: parseSelection(map, refuse, item.line),
    ...(min === undefined ? {} : { min }),
    ...(limit === undefined ? {} : { max: limit }),
    ...(maxPercent === undefined ? {} : { maxPercent }),
    ...(of === undefined ? {} : { of: parseOf(of, refuse) }),
    ...(forMs === undefined ? {} : { forMs }),
    bridgesGaps: gaps !== undefined,
    holdMs: readLength(map, 'hold', refuse) ?? 0,
  };
}

function parseOf(item: LinedValue, refuse: Refuse): RuleSelection {
  const map = mapOf(item, refuse, '"of"');
  refuseUnknownKeys(map, SELECTION_KEYS, refuse);
  return parseSelection(map, refuse, item.line);
}

function parseSelection(map: LinedMap, refuse: Refuse, line: number): RuleSelection {
  const states = readTexts(map, 'state', refuse);
  for (const { text, line: at } of states ?? []) checkState(text, at, refuse);
  const where = (readTexts(map, 'where', refuse) ?? []).map(({ text, line: at }) =>
    withLine(at, refuse, () => {
      const condition = parseCondition(text, BICYCLE);
      checkCondition(condition, BICYCLE);
      return condition;
    }),
  );
  const parseOne = <T>(key: string, parse: (text: string) => T): T | undefined => {
    const found = map.get(key);
    if (found === undefined) return undefined;
    const text = textOfValue(found, key, refuse);
    return withLine(found.line, refuse, () => parse(text));
  };
  const bbox = parseOne('bbox', parseBbox);
  const near = parseOne('near', parseNear);
  const radius = parseOne('radius', parseRadius);
  if ((near === undefined) !== (radius === undefined))
    throw refuse(
      map.get('near')?.line ?? map.get('radius')?.line ?? line,
      '"near" and "radius" go together',
    );
  const zone = readTexts(map, 'zone', refuse)?.map(({ text }) => text);
  const model = readTexts(map, 'model', refuse)?.map(({ text }) => text);
  const organization = parseOne('organization', (text) => text);
  return {
    where,
    ...(states === undefined ? {} : { state: states.map(({ text }) => text) }),
    ...(zone === undefined ? {} : { zone }),
    ...(bbox === undefined ? {} : { bbox }),
    ...(near === undefined ? {} : { near }),
    ...(radius === undefined ? {} : { radius }),
    ...(model === undefined ? {} : { model }),
    ...(organization === undefined ? {} : { organization }),
  };
}

function checkState(state: string, line: number, refuse: Refuse): void {
  if (BICYCLE_STATES.some((known) => known === state)) return;
  const meant = nearest(state, BICYCLE_STATES);
  const hint =
    meant === undefined ? `states: ${BICYCLE_STATES.join(', ')}` : `did you mean "${meant}"?`;
  throw refuse(line, `unknown state "${clean(state)}"`, hint);
}

/** Adds the line number in the file to a parser's error. */
function withLine<T>(line: number, refuse: Refuse, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    throw refuse(line, error.message, error.hint);
  }
}

interface TextAt {
  text: string;
  line: number;
}

/**
 * Reads a string or a list of strings. A list has the same meaning as a repeated flag of `bicycles
 * list`.
 */
function readTexts(map: LinedMap, key: string, refuse: Refuse): TextAt[] | undefined {
  const found = map.get(key);
  if (found === undefined) return undefined;
  const items: readonly LinedValue[] = Array.isArray(found.value) ? found.value : [found];
  if (items.length === 0) throw refuse(found.line, `"${key}" is empty`);
  return items.map((item) => ({ text: textOfValue(item, key, refuse), line: item.line }));
}

function textOfValue({ value, line }: LinedValue, key: string, refuse: Refuse): string {
  if (typeof value === 'string' && value.trim() !== '') return value.trim();
  if (typeof value === 'number') return String(value);
  // Corners and points can also be YAML lists of numbers: [13.4, 52.5].
  if (Array.isArray(value) && value.every((item: LinedValue) => typeof item.value === 'number'))
    return value.map((item: LinedValue) => String(item.value)).join(',');
  throw refuse(line, `"${key}" must be a text`);
}

function readNumber(map: LinedMap, key: string, refuse: Refuse): number | undefined {
  const found = map.get(key);
  if (found === undefined) return undefined;
  const { value, line } = found;
  if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return value;
  throw refuse(line, `"${key}" must be a number of 0 or more`);
}

function readLength(map: LinedMap, key: string, refuse: Refuse): number | undefined {
  const found = map.get(key);
  if (found === undefined) return undefined;
  return withLine(found.line, refuse, () => {
    const milliseconds = parseDuration(String(found.value), `"${key}"`);
    if (milliseconds > 0) return milliseconds;
    throw usageError(`"${key}" must be above 0`);
  });
}
