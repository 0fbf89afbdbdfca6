// Runs jq.test.ts with many more random programs.

process.env['FLEET_TEST_LONG'] = '1';
await import('./jq.test.js');
