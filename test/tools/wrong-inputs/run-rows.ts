/**
 * A process that runs many command lines, one after the other, as `triton` runs one: starting Node for each takes longer than
 * all of them. Its argument is a JSON file, an array of argument lists. After each, a line with the status goes to both
 * outputs.
 */
import { readFileSync, writeSync } from 'node:fs';
import { main } from '../../../src/cli/main.js';

// Every command line watches both.
process.stdout.setMaxListeners(0);
process.stderr.setMaxListeners(0);
for (const args of JSON.parse(readFileSync(process.argv[2] as string, 'utf8')) as string[][]) {
  await main(args);
  for (const descriptor of [1, 2]) writeSync(descriptor, `\x1e${process.exitCode}\x1e`);
}
process.exitCode = 0;
