/** Repositories that are made to hang or break whoever reads them: `repo validate` judges them, and ends. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { runTritonSync } from '../support/programs/run-triton.js';
import { makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer } from '../support/servers/test-server.js';

const root = makeRepository({});
after(root.remove);

/** Makes a repository of one model `m`; returns its path. */
function model(name: string, config: string | undefined, more: (directory: string) => void = () => {}): string {
  root.write({ [`${name}/m/1/`]: '', ...(config === undefined ? {} : { [`${name}/m/config.pbtxt`]: config }) });
  more(root.file(name, 'm'));
  return root.file(name);
}

const TENSORS = 'input { name: "I" data_type: TYPE_FP32 dims: 1 } output { name: "O" data_type: TYPE_FP32 dims: 1';
const pipe = (file: string) => (directory: string) => void execFileSync('mkfifo', [path.join(directory, file)]);

const CASES: readonly (readonly [repository: string, message: RegExp])[] = [
  [model('comment', `#${'x'.repeat(17 * 2 ** 20)}`), /at most 16777216 of such a file are read/],
  [model('nested', 'ensemble_scheduling {'.repeat(100_000)), /config-syntax/],
  [
    model('steps', `platform: "ensemble" ensemble_scheduling {${'step { model_name: "m" } '.repeat(100_000)}}`),
    /error/,
  ],
  [
    model('versions', `backend: "identity" version_policy { specific { versions: [${[...Array(150_000).keys()]}] } }`),
    /version 149999 is specified/,
  ],
  [
    model('labels', `backend: "identity" ${TENSORS} label_filename: "l" }`, (directory) => {
      writeFileSync(path.join(directory, 'l'), '');
      truncateSync(path.join(directory, 'l'), 2 ** 30);
    }),
    /at most 67108864 of such a file are read/,
  ],
  [
    model('outside', `backend: "identity" ${TENSORS} } default_model_filename: "../../x"`),
    /leaves the version directory/,
  ],
  [
    model(
      'warm-up',
      `backend: "identity" ${TENSORS} } model_warmup { name: "w" batch_size: 1 inputs { key: "I" value { data_type: TYPE_FP32 dims: 1 input_data_file: "../../secret" } } }`,
    ),
    /is outside the model directory/,
  ],
  [model('pipe-config', undefined, pipe('config.pbtxt')), /Is a named pipe, not a regular file/],
  [model('pipe-onnx', undefined, pipe('1/model.onnx')), /Is a named pipe, not a regular file/],
  [model('pipe-python', undefined, pipe('1/model.py')), /Is a named pipe, not a regular file/],
];

test('each hostile repository is judged in bounded time and text', () => {
  for (const [repository, message] of CASES) {
    const { status, stdout, stderr, signal } = runTritonSync(['repo', 'validate', '--no-run', '--strict', repository], {
      nodeArgs: ['--max-old-space-size=1500'],
      timeoutMs: 120_000,
    });
    assert.equal(signal, null, repository);
    assert.equal(status, 1, `${repository}: ${stderr}`);
    assert.match(stdout, message, repository);
    assert.ok(
      stdout.split('\n').every((line) => line.length < 5000),
      repository,
    );
  }
});

test('a server refuses the same models and serves on', async () => {
  const pipes = CASES.filter(([repository]) => /pipe|outside|warm-up|labels/.test(path.basename(repository)));
  for (const [repository] of pipes) {
    let log = '';
    const started = startTestServer([repository], ['--exit-on-error=false'], (part) => {
      log += part;
    });
    const server = await started;
    assert.match(log, /\nE/, repository);
    await server.stop();
  }
});
