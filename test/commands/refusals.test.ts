// One table of command lines that fleet refuses before it sends anything, with their message and
// hint. Each exits with 2. Suggestions for whole lines are in test/cli/guesses.test.ts.

import { expect, test } from 'vitest';
import { wordsOf } from '../../src/cli/split.js';
import { newFolder } from '../support/folder.js';
import { runFleet } from '../support/run.js';
import { openServer, sendPage } from '../support/server.js';

const UUID = 'aaaaaaaa-0000-4000-8000-000000000001';

/** The line, the message, and the beginning of the hint, if there is one. */
type Refusal = [line: string, message: string, hint?: string];

const REFUSALS: Refusal[] = [
  [
    'bicycles list --limit 0',
    '--limit must be a whole number of 1 or more, not "0"',
    'did you mean: fleet bicycles list --all',
  ],
  ['bicycles list --limit abc', '--limit must be a whole number of 1 or more, not "abc"'],
  ['bicycles list --page 0', '--page must be a whole number of 1 or more, not "0"'],
  [
    'bicycles list --page 2 --all',
    "option '--all' cannot be used with option '--page <n>'",
    'see "fleet bicycles list --help"',
  ],
  ['bicycles list --page-size 0', '--page-size must be a whole number of 1 or more, not "0"'],
  [
    'bicycles list --state lots',
    'unknown state "lots"',
    'did you mean "lost"? states: available, reserved, in_maintenance,',
  ],
  [
    'bicycles list --bbox 1,2,3',
    '--bbox must be four numbers, <north-east-longitude>,<north-east-latitude>,<south-west-longitude>,<south-west-latitude>, not "1,2,3"',
  ],
  [
    'bicycles list --bbox 1,91,1,1',
    '--bbox "1,91,1,1" is out of range, or its corners are in the wrong order: the north-east corner comes first',
    'the form is',
  ],
  [
    'bicycles list --near 52.52',
    '--near must be a latitude and a longitude, such as 52.52,13.40, not "52.52"',
  ],
  [
    'bicycles list --near 52.52,13.4',
    '--near needs --radius',
    'did you mean: fleet bicycles list --near 52.52,13.4 --radius 1km',
  ],
  [
    'bicycles list --near 91,13.4 --radius 1km',
    '--near "91,13.4" is out of range: the latitude (-90 to 90) comes first, then the longitude (-180 to 180)',
  ],
  [
    'bicycles list --near 52.52,13.4 --radius 0',
    '--radius must be a distance above 0 and below half the circumference of the earth, such as 800 (metres) or 1.5km, not "0"',
  ],
  [
    'bicycles list --near 52.52,13.4 --radius 5parsecs',
    '--radius must be a distance above 0 and below half the circumference of the earth, such as 800 (metres) or 1.5km, not "5parsecs"',
  ],
  [
    'bicycles list --radius 5km',
    '--radius works only with --near',
    'add the place: --near 52.52,13.40',
  ],
  [
    'bicycles list --where state',
    'a condition must be FIELD, then one of = != < <= > >= ~ (contains), then VALUE, not "state"',
    "for example state=lost, 'state_of_charge<20' or",
  ],
  [
    'bicycles list --where state=lots',
    'unknown state "lots"',
    'did you mean "lost"? states: available, reserved, in_maintenance,',
  ],
  [
    'bicycles list --where charge<<5',
    'a condition must be FIELD, then one of = != < <= > >= ~ (contains), then VALUE, not "charge<<5"',
    "for example state=lost, 'state_of_charge<20' or",
  ],
  [
    'bicycles list --columns',
    "option '--columns <a,b,…>' argument missing",
    'see "fleet bicycles list --help"',
  ],
  [
    'bicycles list --output jsno',
    'unknown format "jsno"',
    'did you mean "json"? formats: table, wide, json, jsonl, csv, tsv,',
  ],
  [
    'bicycles list -o geojson --columns name',
    '--columns works only with table, csv, tsv, xlsx, not with geojson',
  ],
  [
    'bicycles list -o csv --jq .',
    '--jq filters JSON and cannot be used with -o csv',
    "choose fields in the program: '.[] | {name, state}'; -o jsonl filters item by item",
  ],
  [
    'bicycles list --timezone Berln',
    '--timezone must be an IANA time zone name, not "Berln"',
    'did you mean "Europe/Berlin"?',
  ],
  [
    'bicycles list --timeout 0',
    '--timeout: "0" is not a number of seconds above 0',
    'use a number such as 30 or 2.5',
  ],
  [
    'bicycles list --timeout never',
    '--timeout: "never" is not a number of seconds above 0',
    'use a number such as 30 or 2.5',
  ],
  ['bicycles list --retries -1', '--retries must be a whole number of 0 or more, not "-1"'],
  [
    'bicycles list --headings',
    '--headings works only with csv, tsv, xlsx, not with table',
    'add --file fleet.xlsx or -o csv',
  ],
  ['bicycles list --excel', '--excel works only with csv, not with table', 'add -o csv'],
  [
    'bicycles list --file out.xlsx -o csv',
    '--file "out.xlsx" is a workbook, but -o csv writes text',
    'remove -o to write a workbook, or choose another extension',
  ],
  [
    'bicycles list extra',
    "too many arguments for 'list'. Expected 0 arguments but got 1.",
    'did you mean: fleet bicycles list --name extra, or: fleet bicycles list --zone extra',
  ],
  ['bicycles get', "missing required argument 'bicycle'", 'see "fleet bicycles get --help"'],
  [
    'bicycles create',
    '--name is missing',
    'pass --name to create one bicycle, or --from FILE to create many',
  ],
  [
    'bicycles create --name Ada --from a.csv',
    '--name cannot be used with --from, because each row describes its bicycle',
  ],
  [
    'bicycles act rent',
    'no bicycle given for "rent"',
    'pass a UUID before the transition, as in "fleet bicycles act UUID rent", or pass - to read UUIDs from stdin',
  ],
  [
    'bicycles act UUID',
    'the transition is missing: it comes last, after the bicycles',
    'transitions: declare_available, rent, return, declare_lost,',
  ],
  [
    'bicycles act UUID polish',
    'unknown transition "polish"',
    'transitions: declare_available, rent, return, declare_lost,',
  ],
  [
    'bicycles act rent UUID',
    'the transition "rent" must come last, after the bicycles',
    'did you mean: fleet bicycles act',
  ],
  [
    'bicycles act UUID rent --concurrency 0',
    '--concurrency must be a whole number from 1 to 64, not "0"',
  ],
  [
    'bicycles act - rent --journal',
    "option '--journal <file>' argument missing",
    'see "fleet bicycles act --help"',
  ],
  [
    'bicycles edit UUID',
    'nothing to change: no fields given',
    'pass --name, --description, --serial-number, --model, --lock,',
  ],
  [
    'bicycles edit UUID --state lost',
    "unknown option '--state'",
    'did you mean "act <bicycle> <transition>"? see "fleet bicycles edit --help"',
  ],
  ['alerts act UUID close', 'unknown action "close"', 'actions: resolve, silence, escalate, stop'],
  [
    'alerts watch --exec',
    "option '--exec <command>' argument missing",
    'see "fleet alerts watch --help"',
  ],
  ['alerts listen --port 99999', '--port must be a whole number from 0 to 65535, not "99999"'],
  [
    'watch --for 5 parsecs',
    '--for must be a number with a unit, not "5"',
    'for example 200ms, 90s, 5m, 2h, 1d, 1w',
  ],
  [
    'watch --until sold',
    'a condition must be FIELD, then one of = != < <= > >= ~ (contains), then VALUE, not "sold"',
    "for example state=lost, 'state_of_charge<20' or",
  ],
  ['watch --max-events 0', '--max-events must be a whole number of 1 or more, not "0"'],
  [
    'mirror run --keep 5',
    '--keep must be a number with a unit, not "5"',
    'for example 200ms, 90s, 5m, 2h, 1d, 1w',
  ],
  [
    'mirror run --to mysql://x',
    '--to: the address of a database begins with sqlite: or postgres://',
    'write sqlite:PATH or postgres://USER@HOST:PORT/DATABASE',
  ],
  [
    'check missing.yaml',
    'missing.yaml cannot be read: no such file or directory',
    'pass a file, or - for stdin',
  ],
  [
    'report --since tomorrow',
    '--since must be a time, not "tomorrow"',
    'for example yesterday, monday, 2h, 7d, 1w, 2026-11-23, "2026-11-23',
  ],
  ['report --by colour', 'unknown part "colour"', 'parts: day, week, month, model, zone'],
  ['rounds --vans 0', '--vans must be a whole number from 1 to 200, not "0"'],
  [
    'gbfs',
    'the feed needs a destination: pass --out DIR, or --serve PORT; a feed of version 3.0 needs system_id, name, language, timezone, feed_url, opening_hours, feed_contact_email',
    '--set NAME=VALUE, or --system FILE; "fleet help gbfs" explains each',
  ],
  [
    'config set colour red',
    'unknown key "colour"',
    'keys: base_url, sse_url, organization, api_version, output, timeout,',
  ],
  [
    'config set timeout never',
    'timeout: "never" is not a number of seconds above 0',
    'use a number such as 30 or 2.5',
  ],
  ['config get', "missing required argument 'key'", 'did you mean: fleet config list'],
  ['alias set low', "missing required argument 'line'", 'see "fleet alias set --help"'],
  [
    'auth login --email a@b.c --token',
    "unknown option '--token'",
    'the token is never a flag, as other users could read it in the list',
  ],
  [
    'completion tcsh',
    'unknown shell "tcsh"',
    'did you mean "bash"? shells: bash, zsh, fish, powershell',
  ],
  [
    'help nothing',
    'no help for "nothing"',
    '"fleet help" shows the commands; topics: install, settings, aliases,',
  ],
  ['api', "missing required argument 'path'", 'see "fleet api --help"'],
  ['api /x/ --field a', 'a field must be NAME=VALUE, not "a"'],
  [
    'api /x/ --method FETCH',
    'unknown method "FETCH"',
    'did you mean "PATCH"? methods: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS',
  ],
  [
    'apply missing.plan',
    'missing.plan cannot be read: no such file or directory',
    'pass a file, or - for stdin',
  ],
  ['journal show missing.jsonl', 'there is no journal missing.jsonl', 'check the name of the file'],
  [
    'sandbox --file out.txt',
    'fleet sandbox does not support --file',
    'to save the output, redirect it: > FILE',
  ],
  [
    'demo --file out.txt',
    'fleet demo does not support --file',
    'to save the output, redirect it: > FILE',
  ],
  [
    'gbfs --file out.txt',
    'fleet gbfs does not support --file',
    'to save the output, redirect it: > FILE',
  ],
  [
    'mirror run --file out.txt',
    'fleet mirror run does not support --file',
    'to save the output, redirect it: > FILE',
  ],
  ['sandbox --bicycles -1', '--bicycles must be a whole number of 0 or more, not "-1"'],
  [
    'sandbox --fault drop=5%',
    'cannot read the fault "drop=5%"; faults: latency=200ms, error=503:5%, error=503:2x, cut=5%, cut=1x, drop=30s, stall=30s, late=45s, noreplay, resend, norented, shrink, nocount, nodate, links, linkheader, latin1, trim, lag=3s, cache=60s, throttle=5s or expire=60s (times in ms, s, m or h)',
  ],
];

test.each<Refusal>(REFUSALS)('fleet %s', async (line = '', message, hint) => {
  const service = await openServer((response) => void sendPage(response, []));
  const run = await runFleet(wordsOf(line.replaceAll('UUID', UUID)) ?? [], {
    env: { ...service.env, FLEET_CONFIG_DIR: newFolder() },
  });
  const [error, hints] = run.stderr.split('\n');
  expect({ code: run.code, stdout: run.stdout, error }).toEqual({
    code: 2,
    stdout: '',
    error: `error: ${message}`.replaceAll('UUID', UUID),
  });
  const wanted = hint === undefined ? '' : `hint: ${hint}`;
  expect(hints?.slice(0, wanted.length)).toBe(wanted);
  expect(service.asked).toEqual([]);
});
