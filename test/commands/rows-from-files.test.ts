// Tests rows with unusual bytes, merged cells and line ends. The transcripts
// test/transcripts/bicycles/rows-*.md and files.md show files of Excel and of other programs.

import { readFile } from 'node:fs/promises';
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
  test('csv keeps a line break in a quoted cell', async () => {
    await store(0, { description: 'front\nrear\tleft' });
    const list = await fleet(['list', '--all', '-o', 'csv', '--columns', 'uuid,description']);
    expect(list.stdout).toContain('"front\nrear\tleft"');
    expect(await changesDuring(() => edit(list.stdout))).toBe(0);
  });

  test('the preview distinguishes a line break from the symbol for a line break', async () => {
    await store(0, { description: 'a\nb' });
    const { stderr } = await edit(`uuid,description\n${bicycle(0).uuid},a␊b\n`, '--dry-run');
    expect(stderr).toContain('"a\\nb" -> "a␊b"');
  });

  test('the preview shows the place where two long strings differ', async () => {
    await store(0, { description: `${'x'.repeat(400)}old` });
    const { stderr } = await edit(
      `uuid,description\n${bicycle(0).uuid},${'x'.repeat(400)}new\n`,
      '--dry-run',
    );
    expect(stderr).toMatch(/…x+old -> …x+new/);
  });

  test('a terminal shows a symbol in place of a line break', async () => {
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
  ])('`edit` and `create` refuse %s in a name', async (_what, character) => {
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

  test('ignores the DOS end-of-file character at the end of a file', async () => {
    const run = await create('name\r\nAda 1\r\n\u001a', '--json');
    expect([run.code, jsonLines(run.stdout).map(({ name }) => name)]).toEqual([0, ['Ada 1']]);
  });

  test('finds a bicycle when csv replaced a control character in its name', async () => {
    await store(2, { name: 'Ada\u001bx' });
    const run = await edit('name,description\nAda␛x,found\n');
    expect([run.code, bicycle(2).description]).toEqual([0, 'found']);
  });
});

describe('special values', () => {
  test('"null" in a CSV cell is a string', async () => {
    await store(0, { name: 'null', description: 'x' });
    const list = await fleet(['list', '--all', '-o', 'csv']);
    expect(await changesDuring(() => edit(list.stdout))).toBe(0);
    expect((await edit(`uuid,description\n${bicycle(0).uuid},null\n`)).code).toBe(0);
    expect([bicycle(0).name, bicycle(0).description]).toEqual(['null', 'null']);
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

  test('rejects invalid JSON in the cell of a list field', async () => {
    const wrong = await edit(`uuid,tags\n${bicycle(0).uuid},hello\n`);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('tags is not valid')]);
    const list = await edit(`uuid,tags\n${bicycle(0).uuid},"[""a""]"\n`, '--dry-run');
    expect(list.stdout).toContain('"tags":["a"]');
    const text = await edit(`uuid,note\n${bicycle(0).uuid},null\n`, '--dry-run');
    expect(text.stdout + text.stderr).toContain('-> "null"');
  });

  test('rejects changes to a column with a dotted path', async () => {
    const list = await fleet(['list', '--all', '-o', 'csv', '--columns', 'uuid,name,devices.0']);
    expect(await changesDuring(() => edit(list.stdout))).toBe(0);
    const changed = `uuid,devices.0\n${bicycle(0).uuid},b\n`;
    expect(await changesDuring(() => edit(changed))).toBe(0);
    expect((await edit(changed)).stderr).toContain('"devices.0" cannot be changed alone');
  });

  test('accepts every field of `edit` as a column of `list`', async () => {
    const list = await fleet(['list', '--columns', 'uuid,note', '-o', 'csv']);
    expect([list.code, list.stdout.split('\n')[0]]).toEqual([0, 'uuid,note']);
  });
});

describe('numbers and read-only fields', () => {
  test('JSON numbers above 2^53 keep all their digits', async () => {
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

  test.each(['3.57E+14', '3,57E+14'])('refuses the shortened number %s', async (number) => {
    const rows = `uuid;serial_number\n${bicycle(0).uuid};${number}\n`;
    let run = await edit(rows);
    expect([run.code, run.stderr]).toEqual([
      2,
      expect.stringContaining(
        `serial_number "${number}" is a shortened number: some digits are missing`,
      ),
    ]);
    expect(run.stderr).toContain('format the column as text');
    run = await create(`name;serial_number\nAda;${number}\n`);
    expect([run.code, run.stderr]).toEqual([
      2,
      expect.stringContaining(
        `serial_number "${number}" is a shortened number: some digits are missing`,
      ),
    ]);
    await store(0, { serial_number: number });
    expect((await edit(rows)).code).toBe(0);
  });
});

describe('outcomes', () => {
  test('a resumed run counts unchanged bicycles separately from completed edits', async () => {
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
  ])('%s refuses a JSON object with the same key twice', async (_verb, run) => {
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
  ])('`create` refuses the merged cells %s', async (reference, rows) => {
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

  test('`edit` refuses merged cells and reports their ranges', async () => {
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

  test('ignores merged cells outside the rows and columns that fleet reads', async () => {
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

  test('`edit` reads CR line endings in an old Mac encoding', async () => {
    const run = await edit(rowsIn('csv', 'mac'), '--encoding', 'macintosh');
    expect([run.code, bicycle(0).description]).toEqual([0, 'mac']);
  });

  test('`act` and `create` read CR line endings', async () => {
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
  ])('refuses a header line that contains several rows: %j', async (text, message) => {
    const run = await edit(text.replace('UUID', bicycle(0).uuid));
    expect([run.code, run.stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(run.stderr).toContain('line 1 of stdin');
  });
});

describe('columns', () => {
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
});

describe('the output file of --file', () => {
  test('--file accepts the longest file name that the file system allows', async () => {
    const path = join(folder, `${'a'.repeat(251)}.csv`);
    const run = await fleet(['list', '--file', path]);
    expect([run.code, run.stderr]).toEqual([0, expect.not.stringContaining('error')]);
    expect(await readFile(path, 'utf8')).toContain('uuid');
    expect((await fleet(['list', '--file', ''])).code).toBe(2);
  });
});
