// Runs every compiled test file (dist/**/*.test.js) under Node's own test runner, or those whose path holds one of the
// arguments. `npm test -- engine` runs the tests of the engine only.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';

const wanted = process.argv.slice(2);
const files = list('dist').filter(
  (file) => isCurrentTest(file) && (wanted.length === 0 || wanted.some((part) => file.includes(part))),
);
if (files.length === 0) {
  console.error(`no test file in dist/ matches ${wanted.join(' ') || '*.test.js'}; run npm run build first`);
  process.exit(1);
}
// A test that hangs is ended, but for the long form of fuzzing, which takes an hour.
const timeout = process.env.FUZZ_RUNS === undefined ? 180_000 : 12 * 3_600_000;
const result = spawnSync(
  process.execPath,
  [
    '--test',
    // Into every test file: what a test leaves behind (processes, files, descriptors, ...) fails it.
    `--import=${new URL('../dist/test/support/ledger/ledger.js', import.meta.url)}`,
    '--test-concurrency=2',
    `--test-timeout=${timeout}`,
    `--test-reporter=${new URL('./test-reporter.js', import.meta.url)}`,
    '--test-reporter-destination=stdout',
    ...files,
  ],
  // What tests load of onnxruntime-node themselves sends nothing either (src/backends/onnxruntime/session/ort-telemetry.ts).
  { stdio: 'inherit', env: { ORT_DISABLE_TELEMETRY: '1', ...process.env } },
);
process.exit(result.status ?? 1);

/** The compiler leaves the output of deleted sources behind. */
function isCurrentTest(file) {
  return file.endsWith('.test.js') && existsSync(path.relative('dist', file).replace(/\.js$/, '.ts'));
}

function list(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const file = path.join(folder, entry.name);
    return entry.isDirectory() ? list(file) : [file];
  });
}
