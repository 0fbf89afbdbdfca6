// Runs tests of `npm run test:all` completely: more random cases, larger fleets, longer times and
// all combinations.

process.env['FLEET_TEST_LONG'] = '1';
await import('./commands/alerts-listen.test.js');
await import('./commands/api.test.js');
await import('./bulk/carry-out.test.js');
await import('./commands/gbfs.test.js');
await import('./input/rows.test.js');
await import('./bulk/journal.test.js');
await import('./commands/near.test.js');
await import('./http/stream-filter.test.js');
await import('./http/stream-machine.test.js');
await import('./json/json.test.js');
await import('./page/page.test.js');
await import('./process.test.js');
await import('./promises.test.js');
await import('./sandbox/seed.test.js');
await import('./system/secrets.test.js');
await import('./terminal/cells.test.js');
await import('./terminal/stdin.test.js');
await import('./views/board.test.js');
