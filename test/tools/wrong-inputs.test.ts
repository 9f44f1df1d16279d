/** What users get wrong: a table of command lines with everything that they print and their exit status. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { freePort } from '../support/machine/free-port.js';
import { temporaryDirectory } from '../support/machine/temporary-directory.js';
import { runTriton } from '../support/programs/run-triton.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';
import { FILES } from './wrong-inputs/files.js';
import { ROWS, STARTS } from './wrong-inputs/table.js';

const MODELS = fileURLToPath(new URL('../../../fixtures/models', import.meta.url));
const LOADED = ['simple', 'simple_identity', 'simple_sequence', 'densenet_onnx'];
const PROGRAM = path.join(import.meta.dirname, 'wrong-inputs/run-rows.js');
/** Its help stands behind some errors of this command. */
const HELP = 'image-client --help';

interface Result {
  readonly status: number;
  readonly output: string;
  readonly error: string;
}

describe('wrong inputs', () => {
  const directory = temporaryDirectory(FILES);
  const results = new Map<string, Result>();
  let server: TestServer;
  let places: Readonly<Record<string, number | string>> = {};

  const filled = (text: string): string =>
    text.replace(/\{(http|grpc|closed|here)\}/g, (_, name) => String(places[name]));

  before(async () => {
    const load = LOADED.map((name) => `--load-model=${name}`);
    server = await startTestServer([MODELS], ['--model-control-mode=explicit', ...load]);
    places = { http: server.http, grpc: server.grpc, closed: await freePort(), here: directory.path };
    const lines = [HELP, ...ROWS.map(([line]) => line)];
    for (const [i, result] of (await runAll(lines.map((line) => filled(line).split(' ')))).entries()) {
      results.set(lines[i] as string, result);
    }
  });

  after(async () => {
    await server.stop();
    directory.remove();
  });

  /** Runs them in one process. */
  async function runAll(lines: readonly string[][]): Promise<Result[]> {
    directory.write({ 'lines.json': JSON.stringify(lines) });
    const [output, error] = await new Promise<[string, string]>((resolve) => {
      const options = { cwd: directory.path, maxBuffer: 2 ** 26, timeout: 150_000 };
      execFile(process.execPath, [PROGRAM, 'lines.json'], options, (_, stdout, stderr) => resolve([stdout, stderr]));
    });
    const [outputs, errors] = [output.split('\x1e'), error.split('\x1e')];
    assert.equal(errors.length, 2 * lines.length + 1, error.slice(-2000));
    return lines.map((_, i) => ({
      status: Number(errors[2 * i + 1]),
      output: outputs[2 * i] as string,
      error: errors[2 * i] as string,
    }));
  }

  for (const [line, status, error, output] of ROWS) {
    test(`triton ${line}`, () => {
      const result = results.get(line) as Result;
      const help = (results.get(HELP) as Result).output;
      assert.equal(result.error, filled(error).replace('{help}', help));
      if (output !== undefined) assert.equal(result.output, filled(output));
      assert.equal(result.status, status);
    });
  }

  for (const [args, last] of STARTS) {
    test(`triton serve ${args}`, async () => {
      const { status, stderr } = await runTriton(['serve', ...filled(args).split(' ')], { cwd: directory.path });
      const end = stderr
        .trimEnd()
        .split('\n')
        .at(-1)
        ?.replace(/^[EW]\d{4} \S+ \d+ [^\]]+\] /, '');
      assert.deepEqual([end, status], [filled(last), 1], stderr);
    });
  }
});
