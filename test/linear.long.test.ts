// Runs linear.test.ts with texts of 100,000 and a million characters.

process.env['FLEET_TEST_LONG'] = '1';
await import('./linear.test.js');
