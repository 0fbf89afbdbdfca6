// The same with many more random programs.

process.env['FLEET_TEST_LONG'] = '1';
await import('./jq.test.js');
