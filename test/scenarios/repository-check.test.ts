/**
 * A repository is checked in continuous integration: no server, no GPU, no network; findings for people and for
 * programs; and a server refuses what the check refused. A thousand models are checked in test/tools/planted-repository.test.ts.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { FREE_PORTS } from '../support/machine/free-port.js';
import { runTriton } from '../support/programs/run-triton.js';
import { serveProgram } from '../support/programs/serve-program.js';
import { identityConfig, makeRepository } from '../support/repositories/make-repository.js';

const MODELS = fileURLToPath(new URL('../../../fixtures/models', import.meta.url));
const shipped = (file: string): Buffer => readFileSync(path.join(MODELS, file));
const SIMPLE = shipped('simple/config.pbtxt').toString('utf8');
const SCALED = identityConfig('scaled', [['TYPE_FP32', '[ 4 ]']]);

describe('a repository is checked before it is deployed', () => {
  const repository = makeRepository({
    'models/scaled/config.pbtxt': SCALED,
    'models/scaled/1/': '',
    'models/simple/config.pbtxt': SIMPLE,
    'models/simple/1/model.onnx': shipped('simple/1/model.onnx'),
  });
  const models = repository.file('models');
  const check = (...args: string[]): ReturnType<typeof runTriton> =>
    runTriton(['repo', 'validate', 'models', ...args], { cwd: repository.path, env: { CUDA_VISIBLE_DEVICES: '' } });
  const spoil = (): void =>
    repository.write({
      'models/scaled/config.pbtxt': SCALED.replace('max_batch_size', 'max_batchsize'),
      'models/simple/config.pbtxt': SIMPLE.replace('[ 16 ]', '[ 17 ]'),
    });

  after(() => repository.remove());

  test('0 where a server would bring every model up, and a server does', async () => {
    const { status, stdout } = await check();
    assert.deepEqual([status, stdout], [0, '2 models: 0 errors, 0 warnings\n']);
    const server = serveProgram(models);
    await server.printed(/Started Metrics Service/);
    for (const model of ['scaled', 'simple']) {
      assert.match(server.output(), new RegExp(`^\\| ${model} +\\| 1 +\\| READY +\\|$`, 'm'));
    }
    server.kill('SIGTERM');
    await server.ended();
  });

  test('1 where it would not: file, line, column, rule, the text itself, and how to fix it', async () => {
    spoil();
    const { status, stdout } = await check();
    assert.equal(status, 1);
    assert.equal(stdout, EXPECTED);
  });

  test('the same findings as JSON, SARIF and annotations of GitHub', async () => {
    spoil();
    const reports = await Promise.all(['json', 'sarif', 'github'].map((form) => check('--format', form)));
    for (const { status } of reports) assert.equal(status, 1);
    const [json, sarif, github] = reports.map(({ stdout }) => stdout) as [string, string, string];
    const places = [
      'models/scaled/config.pbtxt:3:1 config-syntax',
      'models/simple/config.pbtxt:9:5 onnx-dims-mismatch',
    ];
    const { findings, errors } = JSON.parse(json) as {
      errors: number;
      findings: { file: string; line: number; column: number; rule: string }[];
    };
    assert.deepEqual([errors, findings.map((f) => `${f.file}:${f.line}:${f.column} ${f.rule}`)], [2, places]);
    const { version, runs } = JSON.parse(sarif) as {
      version: string;
      runs: { results: { ruleId: string; locations: { physicalLocation: SarifPlace }[] }[] }[];
    };
    const results = runs[0]!.results.map(({ ruleId, locations }) => {
      const { artifactLocation, region } = locations[0]!.physicalLocation;
      return `${artifactLocation.uri}:${region.startLine}:${region.startColumn} ${ruleId}`;
    });
    assert.deepEqual([version, results], ['2.1.0', places]);
    const annotations = [...github.matchAll(/^::error file=([^,]+),line=(\d+),col=(\d+),.*title=([^:,]+)/gm)];
    assert.deepEqual(
      annotations.map(([, file, line, column, title]) => `${file}:${line}:${column} ${title}`),
      places,
      github,
    );
  });

  test('what the check refuses a server refuses, with the same message', async () => {
    spoil();
    const { stdout } = await check('--format', 'json');
    const { findings } = JSON.parse(stdout) as { findings: { message: string }[] };
    const served = await runTriton(['serve', '--model-repository=models', ...FREE_PORTS], { cwd: repository.path });
    assert.equal(served.status, 1);
    for (const { message } of findings) assert.ok(served.stderr.includes(message), `${message}\n${served.stderr}`);
  });
});

interface SarifPlace {
  readonly artifactLocation: { readonly uri: string };
  readonly region: { readonly startLine: number; readonly startColumn: number };
}

const EXPECTED = `models/scaled/config.pbtxt:3:1: error: Message type "inference.ModelConfig" has no field named "max_batchsize". [config-syntax]
    max_batchsize: 8
    ^
  server: failed to read text proto from models/scaled/config.pbtxt
  help: Did you mean 'max_batch_size'?
models/simple/config.pbtxt:9:5: error: model 'simple', tensor 'INPUT0': the model expects 2 dimensions (shape [-1,16]) but the model configuration specifies 2 dimensions (an initial batch dimension because max_batch_size > 0 followed by the explicit tensor shape, making complete shape [-1,17]) [onnx-dims-mismatch]
        dims: [ 17 ]
        ^
  model:         [-1, 16]
  configuration: [-1, 17]
                      ^^
  help: Write dims: [ 16 ].
2 models: 2 errors, 0 warnings
`;
