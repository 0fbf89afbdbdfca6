// Tests rows in files as Excel and other programs write them, and the errors for unusable ones.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { beforeEach, describe, expect, test } from 'vitest';
import { environmentOf } from '../support/environment.js';
import { newFolder } from '../support/folder.js';
import { jsonLines, runFleet } from '../support/run.js';
import { useSandbox } from '../support/sandbox.js';
import { workbookParts, zipParts } from '../support/workbook.js';

const service = useSandbox({ bicycles: 12 });
let folder: string;
beforeEach(() => {
  folder = newFolder();
});

async function fleet(args: readonly string[], stdin: string | Buffer = '') {
  return runFleet(['bicycles', ...args], {
    env: await environmentOf(service()),
    stdin: Readable.from([stdin]),
  });
}

const create = async (input: string | Buffer, ...args: string[]) =>
  runFleet(['bicycles', 'create', '--from', '-', '--yes', ...args], {
    env: {
      ...(await environmentOf(service())),
      FLEET_ORGANIZATION: service().organizations[0]?.uuid,
    },
    stdin: Readable.from([input]),
  });
const edit = (input: string | Buffer, ...args: string[]) =>
  fleet(['edit', '-', '--yes', ...args], input);

/** Returns this bicycle as the service has it now. */
function bicycle(index: number) {
  const found = service().bicycles()[index];
  if (found === undefined) throw new Error(`there is no bicycle ${index}`);
  return found;
}

/** Changes a bicycle in the service without fleet. */
async function store(index: number, fields: { [field: string]: unknown }): Promise<void> {
  const { baseUrl } = service();
  const answer = await fetch(`${baseUrl}/bicycles/${bicycle(index).uuid}/`, {
    method: 'PATCH',
    headers: {
      authorization: `JWT ${await service().token()}`,
      accept: 'application/json; version=1.0',
      'content-type': 'application/json',
    },
    body: JSON.stringify(fields),
  });
  if (!answer.ok) throw new Error(await answer.text());
}

/** Counts the requests for changes that the service received during the work. */
async function changesDuring(work: () => Promise<unknown>): Promise<number> {
  const before = service().requests.length;
  await work();
  return service()
    .requests.slice(before)
    .filter(({ method }) => method !== 'GET').length;
}

describe('line breaks and control characters', () => {
  test('csv keeps a line break in a quoted cell, and reading it back sends nothing', async () => {
    await store(0, { description: 'front\nrear\tleft' });
    const list = await fleet(['list', '--all', '-o', 'csv', '--columns', 'uuid,description']);
    expect(list.stdout).toContain('"front\nrear\tleft"');
    expect(await changesDuring(() => edit(list.stdout))).toBe(0);
  });

  test('the preview shows the difference between a line break and its symbol', async () => {
    await store(0, { description: 'a\nb' });
    const { stderr } = await edit(`uuid,description\n${bicycle(0).uuid},a␊b\n`, '--dry-run');
    expect(stderr).toContain('"a\\nb" -> "a␊b"');
  });

  test('the preview shows where two long texts differ', async () => {
    await store(0, { description: `${'x'.repeat(400)}old` });
    const { stderr } = await edit(
      `uuid,description\n${bicycle(0).uuid},${'x'.repeat(400)}new\n`,
      '--dry-run',
    );
    expect(stderr).toMatch(/…x+old -> …x+new/);
  });

  test('a terminal shows the symbol in place of a line break', async () => {
    await store(0, { description: 'a\nb' });
    const list = await runFleet(
      ['bicycles', 'list', '--all', '-o', 'csv', '--columns', 'description'],
      { env: await environmentOf(service()), terminal: { columns: 80 } },
    );
    expect(list.stdout).toContain('a␊b');
    expect(list.stdout).not.toContain('a\nb');
  });

  test.each([
    ['NUL', '\u0000'],
    ['escape', '\u001b'],
    ['a C1 control', '\u0085'],
  ])('refuses %s in a name that edit or create would set', async (_what, character) => {
    const row = JSON.stringify({ uuid: bicycle(1).uuid, name: `Ada${character}` });
    let run = await edit(row);
    expect([run.code, run.stderr]).toEqual([
      2,
      expect.stringContaining('name must not contain control characters'),
    ]);
    run = await create(JSON.stringify({ name: `A${character}` }));
    expect([run.code, run.stderr]).toEqual([
      2,
      expect.stringContaining('name must not contain control characters'),
    ]);
  });

  test('ignores the DOS end-of-file character at the end', async () => {
    const run = await create('name\r\nAda 1\r\n\u001a', '--json');
    expect([run.code, jsonLines(run.stdout).map(({ name }) => name)]).toEqual([0, ['Ada 1']]);
  });

  test('finds a bicycle by a name with a control character, as csv writes it', async () => {
    await store(2, { name: 'Ada\u001bx' });
    const run = await edit('name,description\nAda␛x,found\n');
    expect([run.code, bicycle(2).description]).toEqual([0, 'found']);
  });
});

describe('special values', () => {
  test('"null" in a cell is a text', async () => {
    await store(0, { name: 'null', description: 'x' });
    const list = await fleet(['list', '--all', '-o', 'csv']);
    expect(await changesDuring(() => edit(list.stdout))).toBe(0);
    expect((await edit(`uuid,description\n${bicycle(0).uuid},null\n`)).code).toBe(0);
    expect([bicycle(0).name, bicycle(0).description]).toEqual(['null', 'null']);
  });

  test('the apostrophe of --excel is removed when the file is read', async () => {
    await store(0, { name: '-1', description: "'=x" });
    const list = await fleet(['list', '--all', '-o', 'csv', '--excel']);
    expect(list.stdout).toContain("'-1");
    expect(await changesDuring(() => edit(list.stdout))).toBe(0);
    const text = "\uFEFFname;description\n'-2;'+3\n";
    const run = await create(text);
    const created = service()
      .bicycles()
      .find(({ name }) => name === '-2');
    expect([run.code, created?.description]).toEqual([0, '+3']);
  });

  test.each([
    ['a byte order mark', (text: string) => Buffer.from(`\uFEFF${text}`), []],
    ['UTF-16', (text: string) => Buffer.from(`\uFEFF${text}`, 'utf16le'), []],
    ['--encoding', (text: string) => Buffer.from(text), ['--encoding', 'windows-1252']],
  ] as const)('a plain export that was saved with %s is unchanged', async (_, save, flags) => {
    await store(0, { name: "'=x", description: "'-5" });
    await store(1, { name: '=x', description: '-5' });
    const list = await fleet(['list', '--all', '-o', 'csv', '--columns', 'uuid,name,description']);
    expect(await changesDuring(() => edit(save(list.stdout), ...flags))).toBe(0);
    const run = await fleet(['act', '-', 'retire', '--dry-run'], save("name\n'=x\n"));
    expect(run.code).toBe(0);
    expect(run.stdout).toContain(bicycle(0).uuid);
    expect(run.stdout).not.toContain(bicycle(1).uuid);
  });

  test('rejects a list that is not JSON, and shows the text "null" in quotes', async () => {
    const wrong = await edit(`uuid,tags\n${bicycle(0).uuid},hello\n`);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('tags is not valid')]);
    const list = await edit(`uuid,tags\n${bicycle(0).uuid},"[""a""]"\n`, '--dry-run');
    expect(list.stdout).toContain('"tags":["a"]');
    const text = await edit(`uuid,note\n${bicycle(0).uuid},null\n`, '--dry-run');
    expect(text.stdout + text.stderr).toContain('-> "null"');
  });

  test('accepts an unchanged column with a dotted path and rejects a changed one', async () => {
    const list = await fleet(['list', '--all', '-o', 'csv', '--columns', 'uuid,name,devices.0']);
    expect(await changesDuring(() => edit(list.stdout))).toBe(0);
    const changed = `uuid,devices.0\n${bicycle(0).uuid},b\n`;
    expect(await changesDuring(() => edit(changed))).toBe(0);
    expect((await edit(changed)).stderr).toContain('"devices.0" cannot be changed alone');
  });

  test('accepts every field of `edit` as a column of `list`, even if no bicycle has it', async () => {
    const list = await fleet(['list', '--columns', 'uuid,note', '-o', 'csv']);
    expect([list.code, list.stdout.split('\n')[0]]).toEqual([0, 'uuid,note']);
  });

  test('an empty cell changes nothing, and --empty clear clears the field', async () => {
    await store(0, { description: 'old', note: 'old' });
    const row = `uuid,description,note\n${bicycle(0).uuid},,\n`;
    expect(await changesDuring(() => edit(row))).toBe(0);
    expect((await edit(row, '--empty', 'clear')).code).toBe(0);
    expect([bicycle(0).description, bicycle(0)['note']]).toEqual(['', null]);
  });
});

describe('numbers and read-only fields', () => {
  test('JSON numbers keep digits beyond 2^53', async () => {
    const row = `{"uuid":"${bicycle(0).uuid}","serial_number":12345678901234567890}`;
    expect((await edit(row)).code).toBe(0);
    expect(bicycle(0).serial_number).toBe('12345678901234567890');
    const created = await create('{"name":"Big","serial_number":98765432109876543210}');
    expect(created.code).toBe(0);
    const big = service()
      .bicycles()
      .find(({ name }) => name === 'Big');
    expect(big?.serial_number).toBe('98765432109876543210');
  });

  test('one notice names the read-only columns, and points to act for the state', async () => {
    const row = { uuid: bicycle(0).uuid, state: 'lost', state_of_charge: 1, description: 'new' };
    const run = await edit(JSON.stringify(row));
    expect([run.code, run.stderr]).toEqual([
      0,
      expect.stringContaining(
        'ignored read-only columns: state, state_of_charge; to change a state, use: fleet bicycles act - TRANSITION\n',
      ),
    ]);
    expect(bicycle(0)).toMatchObject({
      description: 'new',
      state: expect.not.stringMatching('lost'),
    });
  });

  test('headers of fleet tables are known columns', async () => {
    const list = await fleet([
      'list',
      '--all',
      '-o',
      'csv',
      '--columns',
      'id,name,charge,position',
    ]);
    const run = await edit(list.stdout);
    expect([run.code, run.stderr]).toEqual([
      0,
      expect.stringMatching(
        /ignored read-only columns: state_of_charge, position\n\d+ bicycles: \d+ unchanged/,
      ),
    ]);
  });

  test.each(['3.57E+14', '3,57E+14'])('refuses the shortened number %s', async (number) => {
    const rows = `uuid;serial_number\n${bicycle(0).uuid};${number}\n`;
    let run = await edit(rows);
    expect([run.code, run.stderr]).toEqual([
      2,
      expect.stringContaining(`serial_number "${number}" is not the whole number`),
    ]);
    expect(run.stderr).toContain('format the column as text');
    run = await create(`name;serial_number\nAda;${number}\n`);
    expect([run.code, run.stderr]).toEqual([
      2,
      expect.stringContaining(`serial_number "${number}" is not the whole number`),
    ]);
    await store(0, { serial_number: number });
    expect((await edit(rows)).code).toBe(0);
  });
});

describe('outcomes', () => {
  test('reports a row without changes as unchanged, also in JSON', async () => {
    const { uuid, name } = bicycle(0);
    const run = await edit(JSON.stringify({ uuid, name }), '--json');
    expect(jsonLines(run.stdout)).toMatchObject([{ uuid, outcome: 'unchanged', status: null }]);
    expect(run.stderr).toMatch(/1 bicycle: 1 unchanged in/);
  });

  test('a resumed run counts unchanged bicycles apart from those in the journal', async () => {
    const [one, two] = [bicycle(0), bicycle(1)];
    const rows = `uuid,description\n${one.uuid},resumed\n${two.uuid},${two.description ?? ''}\n`;
    const journal = join(folder, 'run.journal');
    const second = `${rows.trimEnd()}x\n`;
    expect((await edit(rows, '--journal', journal)).stderr).toMatch(/1 done, 1 unchanged in/);
    expect((await edit(second, '--journal', journal)).stderr).toMatch(
      /1 done now, 1 already done \(journal\) in/,
    );
  });
});

describe('encodings', () => {
  const rowIn = (encoding: BufferEncoding, text: string) => Buffer.from(text, encoding);

  test('reads UTF-16 with a byte order mark', async () => {
    const text = `\uFEFFuuid\tdescription\r\n${bicycle(0).uuid}\tMüller\r\n`;
    expect((await edit(rowIn('utf16le', text))).code).toBe(0);
    expect(bicycle(0).description).toBe('Müller');
    const bigEndian = rowIn('utf16le', text.replace('Müller', 'Žofie')).swap16();
    expect((await edit(bigEndian)).code).toBe(0);
    expect(bicycle(0).description).toBe('Žofie');
  });

  test('names the flag for a file of Excel, and reads the file with it', async () => {
    const file = join(folder, 'excel.csv');
    const text = `uuid;description\r\n${bicycle(0).uuid};10 € für Müller\r\n`;
    const bytes = Buffer.from(text.replace('€', '\u0080'), 'latin1');
    await writeFile(file, bytes);
    const refused = await fleet(['edit', '--from', file, '--yes']);
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringMatching(
        /excel\.csv is not UTF-8; nothing was sent\nhint: .*--encoding windows-1252/,
      ),
    ]);
    const run = await fleet(['edit', '--from', file, '--yes', '--encoding', 'windows-1252']);
    expect([run.code, bicycle(0).description]).toEqual([0, '10 € für Müller']);
  });

  test('refuses an unknown encoding and suggests a known one', async () => {
    const run = await edit('', '--encoding', 'windows-1253x');
    expect([run.code, run.stderr]).toEqual([
      2,
      expect.stringContaining('did you mean "windows-1252"?'),
    ]);
  });
});

describe('repeated keys', () => {
  const inputs = () => {
    const row = `{"uuid":"${bicycle(0).uuid}","name":"X","name":"Y"}`;
    const first = `{"uuid":"${bicycle(1).uuid}","name":"Z"}`;
    return [`${first}\n${row}`, `[${first},\n${row}]`];
  };

  test.each([
    ['edit', edit],
    ['act', (text: string) => fleet(['act', '-', 'rent', '--yes'], text)],
    ['create', create],
  ])('%s refuses a JSON key that appears twice', async (_verb, run) => {
    for (const text of inputs()) {
      const { code, stderr } = await run(text);
      expect([code, stderr]).toEqual([
        2,
        expect.stringMatching(/(?:line |stdin:)2.*the key "name" appears twice/),
      ]);
    }
  });
});

describe('merged cells', () => {
  /** A workbook with these texts in its rows. */
  const workbookOf = (rows: readonly (readonly string[])[], ...merged: string[]) => {
    const cellOf = (text: string) =>
      text === '' ? '<c/>' : `<c t="inlineStr"><is><t>${text}</t></is></c>`;
    const data = rows.map((cells) => `<row>${cells.map(cellOf).join('')}</row>`).join('');
    const merges = merged.map((reference) => `<mergeCell ref="${reference}"/>`).join('');
    const xml = `<worksheet><sheetData>${data}</sheetData><mergeCells>${merges}</mergeCells></worksheet>`;
    return zipParts(workbookParts({ sheets: [{ xml }] }));
  };

  test.each([
    [
      'C2:C3',
      [
        ['Merged 1', 'a', 'Berlin'],
        ['Merged 2', 'b', ''],
      ],
    ],
    [
      'B2:C2',
      [
        ['Merged 1', 'a', ''],
        ['Merged 2', 'b', 'c'],
      ],
    ],
    [
      'C1:C2',
      [
        ['Merged 1', 'a', ''],
        ['Merged 2', 'b', 'c'],
      ],
    ],
    [
      'B2:D9',
      [
        ['Merged 1', 'a', ''],
        ['Merged 2', '', ''],
      ],
    ],
  ])('create refuses the merged range %s', async (reference, rows) => {
    const workbook = workbookOf([['name', 'description', 'note'], ...rows], reference);
    const sent = await changesDuring(async () => {
      const { code, stderr } = await create(workbook);
      expect([code, stderr]).toEqual([
        2,
        expect.stringContaining(
          `merged cells leave values empty: ${reference}; unmerge them and fill each cell`,
        ),
      ]);
    });
    expect(sent).toBe(0);
  });

  test('edit refuses merged cells and names the ranges', async () => {
    const rows = [bicycle(0), bicycle(1)].map(({ uuid }) => [uuid, 'x', '']);
    const workbook = workbookOf([['uuid', 'description', 'note'], ...rows], 'B2:C2', 'B3:C3');
    const { code, stderr } = await edit(workbook);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining(
        'row 2 of stdin: 2 ranges of merged cells leave values empty: B2:C2, B3:C3; unmerge',
      ),
    ]);
  });

  test('ignores merged cells outside of the rows and columns that are read', async () => {
    const rows = [bicycle(0), bicycle(1)].map(({ uuid }) => [uuid, 'merged elsewhere']);
    const ranges = ['C1:F1', 'C2:C3', 'B3:C3', 'A4:B9'];
    const run = await edit(workbookOf([['uuid', 'description'], ...rows], ...ranges));
    expect([run.code, bicycle(1).description]).toEqual([0, 'merged elsewhere']);
  });
});

describe('line ends', () => {
  /** Rows that set a description, in the format. */
  const rowsIn = (format: string, description: string) => {
    const { uuid } = bicycle(0);
    const texts: { [format: string]: string } = {
      csv: `uuid,description\r${uuid},${description}\r`,
      tsv: `uuid\tdescription\r${uuid}\t${description}\r`,
      jsonl: `{"uuid":"${uuid}","description":"${description}"}\r`,
      yaml: `- uuid: ${uuid}\r  description: ${description}\r`,
    };
    return texts[format] ?? '';
  };

  test.each(['csv', 'tsv', 'jsonl', 'yaml'])('edit reads %s with CR line ends', async (format) => {
    const run = await edit(rowsIn(format, `set by ${format}`));
    expect([run.code, run.stderr]).toEqual([0, expect.stringContaining('1 bicycle: 1 done')]);
    expect(bicycle(0).description).toBe(`set by ${format}`);
  });

  test('edit reads CR line ends in an encoding of old Macs', async () => {
    const run = await edit(rowsIn('csv', 'mac'), '--encoding', 'macintosh');
    expect([run.code, bicycle(0).description]).toEqual([0, 'mac']);
  });

  test('act and create read CR line ends', async () => {
    const act = await fleet(
      ['act', '-', 'take_over', '--dry-run'],
      `${bicycle(0).uuid}\r${bicycle(1).uuid}\r`,
    );
    expect(act.stdout).toContain(bicycle(0).uuid);
    expect(act.stdout).toContain(bicycle(1).uuid);
    const created = await create('name,description\rOld Mac,"two\rlines"\r');
    expect(created.code).toBe(0);
    const found = service()
      .bicycles()
      .find(({ name }) => name === 'Old Mac');
    expect(found?.description).toBe('two\rlines');
  });

  test.each([
    ['uuid,name\u2028UUID,X\u2028', 'contains a UUID; each row needs its own line'],
    ['uuid,"name\nUUID,X"\n', 'contains a UUID; each row needs its own line'],
    ['name,"note\nEmmy 0001,X"\n', 'the header has line breaks in it, and no rows follow'],
  ])('refuses a header that contains rows: %j', async (text, message) => {
    const run = await edit(text.replace('UUID', bicycle(0).uuid));
    expect([run.code, run.stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(run.stderr).toContain('line 1 of stdin');
  });
});

describe('columns', () => {
  test('accepts empty columns and rows at the end', async () => {
    const text = `uuid;description;;\n${bicycle(0).uuid};trailing;;\n;;;\n;;;\n`;
    expect([(await edit(text)).code, bicycle(0).description]).toEqual([0, 'trailing']);
  });

  test('refuses a value in a column without a heading', async () => {
    const run = await edit(`uuid,,description\n${bicycle(0).uuid},lost value,x\n`);
    expect([run.code, run.stderr]).toEqual([
      2,
      expect.stringContaining('line 2 of stdin: column 2 has a value but no heading'),
    ]);
  });

  test.each(['edit', 'act', 'create'])('%s refuses two columns of the same name', async (verb) => {
    const text = `uuid,name,name\n${bicycle(0).uuid},a,b\n`;
    const args = {
      edit: ['edit', '-', '--yes'],
      act: ['act', '-', 'rent', '--yes'],
      create: ['create', '--from', '-', '--yes'],
    }[verb];
    const run = await fleet(args ?? [], text);
    expect([run.code, run.stderr]).toEqual([
      2,
      expect.stringContaining('two columns are named "name"'),
    ]);
  });

  test('lists all unknown columns in one message, and suggests --map', async () => {
    const run = await edit(`uuid,farbe,groesse\n${bicycle(0).uuid},rot,M\n`);
    expect([run.code, run.stderr]).toEqual([
      2,
      expect.stringMatching(/unknown columns "farbe", "groesse" in stdin.*\nhint: .*--map/),
    ]);
  });

  test('reads columns under other names with --map', async () => {
    const serial = 'FR-0003';
    await store(3, { serial_number: serial });
    const text = `Rahmennummer,Notiz = kurz\n${serial},neu\n`;
    const unnamed = await edit(text);
    expect([unnamed.code, unnamed.stderr]).toEqual([
      2,
      expect.stringMatching(/no column names the bicycle.*"rahmennummer".*\nhint: .*--map/),
    ]);
    const maps = ['--map', 'Rahmennummer=serial_number', '--map', 'Notiz = kurz=note'];
    expect((await edit(text, ...maps)).code).toBe(0);
    expect(bicycle(3)['note']).toBe('neu');
  });
});

describe('files', () => {
  test('act, edit and alerts act read a file with --from', async () => {
    const file = join(folder, 'rows.csv');
    await writeFile(file, `uuid,description\n${bicycle(0).uuid},from a file\n`);
    expect((await fleet(['edit', '--from', file, '--yes'])).code).toBe(0);
    expect(bicycle(0).description).toBe('from a file');
    const act = await fleet(['act', '--from', file, 'take_over', '--dry-run']);
    expect(act.stdout).toContain(`/bicycles/${bicycle(0).uuid}/actions/`);
    const alerts = await runFleet(['alerts', 'act', '--from', file, 'resolve', '--dry-run'], {
      env: await environmentOf(service()),
    });
    expect(alerts.stdout).toContain(`/alerts/${bicycle(0).uuid}/actions/`);
    const both = await fleet(['act', '--from', file, bicycle(1).uuid, 'take_over', '--yes']);
    expect([both.code, both.stderr]).toEqual([
      2,
      expect.stringContaining('--from cannot be combined with other arguments'),
    ]);
  });

  test('leaves an existing file unchanged when there is no result', async () => {
    const file = join(folder, 'out.json');
    await writeFile(file, 'yesterday');
    expect((await edit('', '--file', file)).code).toBe(0);
    expect(await readFile(file, 'utf8')).toBe('yesterday');
  });

  test.each([
    [['--file', 'x.docx'], 'fleet cannot write .docx files', '.json, .jsonl, .csv'],
    [['--file', 'x.ods', '-o', 'csv'], 'fleet cannot write .ods files', '.xlsx'],
    [
      ['--excel', '--file', 'x.xlsx'],
      'applies only to csv, not to an .xlsx file',
      'remove --excel',
    ],
    [
      ['-o', 'csv', '--file', 'x.xlsx'],
      '--file "x.xlsx" is a workbook, and -o csv writes text',
      'remove -o',
    ],
    [['-o', 'xlsx', '--file', 'x.csv'], '-o xlsx needs a file that ends in .xlsx', ''],
  ])('refuses %j and names what works', async (args, message, hint) => {
    const run = await fleet(['list', ...args]);
    expect([run.code, run.stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(run.stderr).toContain(hint);
  });

  test('--file - writes to stdout', async () => {
    const run = await fleet(['list', '-o', 'csv', '--file', '-', '--columns', 'uuid']);
    expect([run.code, run.stdout]).toEqual([0, expect.stringMatching(/^uuid\n/)]);
  });

  test('refuses --journal -', async () => {
    const run = await edit('', '--journal', '-');
    expect([run.code, run.stderr]).toEqual([
      2,
      expect.stringContaining('--journal must be a file, not "-"'),
    ]);
  });
});

describe('the file of --file', () => {
  test.each(['--journal', '--from'])('is refused when %s names it too', async (flag) => {
    const path = join(folder, 'x.jsonl');
    const row = `{"uuid":"${bicycle(0).uuid}","description":"y"}\n`;
    await writeFile(path, row);
    const args = ['edit', ...(flag === '--from' ? [] : ['-']), '--yes'];
    const run = await fleet([...args, flag, path, '--file', path], row);
    expect([run.code, run.stderr]).toEqual([2, expect.stringContaining('name the same file')]);
    expect(await readFile(path, 'utf8')).toBe(row);
  });

  test('the file of --file can have the longest name of the file system, and must not be empty', async () => {
    const path = join(folder, `${'a'.repeat(251)}.csv`);
    const run = await fleet(['list', '--file', path]);
    expect([run.code, run.stderr]).toEqual([0, expect.not.stringContaining('error')]);
    expect(await readFile(path, 'utf8')).toContain('uuid');
    expect((await fleet(['list', '--file', ''])).code).toBe(2);
  });
});

describe('inputs that belong to another command', () => {
  test('rows of alerts are refused for bicycles, and rows of bicycles for alerts', async () => {
    const env = await environmentOf(service());
    service().raiseAlert(bicycle(0).uuid, 'lock.shutdown');
    const alerts = await runFleet(['alerts', 'list', '-o', 'jsonl'], { env });
    const acted = await fleet(['act', '-', 'reserve', '--yes'], alerts.stdout);
    expect([acted.code, acted.stderr]).toEqual([2, expect.stringContaining('describes an alert')]);
    const bicycles = await fleet(['list', '-o', 'jsonl']);
    const resolved = await runFleet(['alerts', 'act', '-', 'resolve', '--yes'], {
      env,
      stdin: Readable.from([bicycles.stdout]),
    });
    expect([resolved.code, resolved.stderr]).toEqual([
      2,
      expect.stringContaining('describes a bicycle'),
    ]);
  });

  test.each([
    ['edit', (path: string) => ['edit', path, '--name', 'x', '--yes']],
    ['act', (path: string) => ['act', path, 'reserve', '--yes']],
  ])('%s names --from when a file stands in place of a bicycle', async (_, argsOf) => {
    const path = join(folder, 'fleet.csv');
    await writeFile(path, 'uuid\n');
    const run = await fleet(argsOf(path));
    expect([run.code, run.stderr]).toEqual([2, expect.stringContaining(`--from ${path}`)]);
  });
});

describe('inputs that need another flag', () => {
  test.each([
    ['utf-16le', (bytes: Buffer) => bytes],
    ['utf-16be', (bytes: Buffer) => bytes.swap16()],
  ])('names --encoding %s for UTF-16 without a byte order mark', async (encoding, swap) => {
    const run = await edit(swap(Buffer.from(`uuid,name\n${bicycle(0).uuid},x\n`, 'utf16le')));
    expect([run.code, run.stderr]).toEqual([2, expect.stringContaining(`--encoding ${encoding}`)]);
  });

  test('refuses a heading of --map that the file does not have', async () => {
    const run = await edit(`uuid,Notiz\n${bicycle(0).uuid},x\n`, '--map', 'Notizen=note');
    expect([run.code, run.stderr]).toEqual([
      2,
      expect.stringContaining('--map names the heading "notizen", which the header does not have'),
    ]);
  });
});
