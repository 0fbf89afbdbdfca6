// The same with texts of a hundred thousand and a million characters.

process.env['FLEET_TEST_LONG'] = '1';
await import('./linear.test.js');
