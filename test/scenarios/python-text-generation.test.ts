/**
 * A Python model that generates text, served and called as people do: curl, the completed configuration, the options that
 * choose and load models, a warm-up. Token streams are in test/python/text-generation.test.ts, repositories in object
 * stores in test/tools/stores.test.ts.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { pythonWithNumpy, runPython } from '../support/programs/python.js';
import { runTriton } from '../support/programs/run-triton.js';
import { httpPort, type ServeProgram, serveProgram } from '../support/programs/serve-program.js';
import { findTool } from '../support/programs/tools.js';
import { makeRepository } from '../support/repositories/make-repository.js';

const SOURCES = fileURLToPath(new URL('../../../test/python/text_generation', import.meta.url));
const source = (name: string): string => readFileSync(path.join(SOURCES, name), 'utf8');
const python = pythonWithNumpy();
const curl = findTool('curl', { debian: 'curl' });

const CONFIG = `backend: "python"
parameters { key: "max_new_tokens" value { string_value: "8" } }
parameters { key: "weights" value { string_value: "weights" } }
`;
const WARM_UP = `model_warmup {
  name: "a prompt"
  batch_size: 1
  count: 3
  inputs { key: "text_input" value { data_type: TYPE_STRING dims: [ 1 ] input_data_file: "prompt" } }
}
`;
const IO = `input { name: "text_input" data_type: TYPE_STRING dims: [ 1 ] }
output { name: "text_output" data_type: TYPE_STRING dims: [ 1 ] }
`;
const BODY = '{"inputs":[{"name":"text_input","datatype":"BYTES","shape":[1],"data":["how can you be"]}]}';

describe('text generation over curl', { skip: python === undefined || curl === undefined }, () => {
  const repository = makeRepository({
    'falcon7b/config.pbtxt': CONFIG,
    'falcon7b/1/model.py': source('model.py'),
    'falcon7b/1/tiny_lm.py': source('tiny_lm.py'),
    'falcon7b/weights/': '',
  });
  const backend = `--backend-config=python,python-executable=${python}`;
  let server: ServeProgram | undefined;
  let url = '';

  async function serve(...args: string[]): Promise<ServeProgram> {
    await stop();
    const running = serveProgram(repository.path, [backend, ...args]);
    server = running;
    await running.printed(/Started Metrics Service/);
    url = `127.0.0.1:${await httpPort(running)}`;
    return running;
  }

  async function stop(): Promise<void> {
    server?.kill('SIGTERM');
    await server?.ended();
    server = undefined;
  }

  async function curlJson(...args: string[]): Promise<unknown> {
    const { stdout } = await promisify(execFile)(curl!, ['-s', ...args]);
    return JSON.parse(stdout);
  }

  const generate = (): Promise<unknown> => curlJson('-X', 'POST', `${url}/v2/models/falcon7b/infer`, '-d', BODY);

  before(
    async () =>
      void (await runPython(python!, [path.join(SOURCES, 'make_model.py'), repository.file('falcon7b/weights')])),
  );

  after(async () => {
    await stop();
    repository.remove();
  });

  test('the response continues the text, and the configuration is shown completed', async () => {
    const { output } = await serve();
    assert.match(output(), /^\| falcon7b +\| 1 +\| READY +\|$/m);
    const answer = (await generate()) as { outputs: { data: string[] }[] };
    const text = answer.outputs[0]?.data[0] ?? '';
    assert.match(text, /^how can you be( \S+){8}$/);
    assert.deepEqual(answer, {
      model_name: 'falcon7b',
      model_version: '1',
      outputs: [{ name: 'text_output', datatype: 'BYTES', shape: [1], data: [text] }],
    });
    const config = (await curlJson(`${url}/v2/models/falcon7b/config`)) as Record<string, unknown>;
    assert.deepEqual(
      [config['name'], config['backend'], config['max_batch_size'], config['input'], config['output']],
      [
        'falcon7b',
        'python',
        0,
        [
          {
            name: 'text_input',
            data_type: 'TYPE_STRING',
            format: 'FORMAT_NONE',
            dims: [1],
            is_shape_tensor: false,
            allow_ragged_batch: false,
            optional: false,
            is_non_linear_format_io: false,
          },
        ],
        [
          {
            name: 'text_output',
            data_type: 'TYPE_STRING',
            dims: [1],
            label_filename: '',
            is_shape_tensor: false,
            is_non_linear_format_io: false,
          },
        ],
      ],
    );
    const { outputs } = (await generate()) as { outputs: { data: string[] }[] };
    assert.equal(outputs[0]?.data[0], text);
  });

  test('in mode explicit it is loaded by name, by a star or on request, after its warm-up', async () => {
    repository.write({
      'falcon7b/config.pbtxt': CONFIG + IO + WARM_UP,
      // A string in the form of the wire: its length in four bytes, then the string.
      'falcon7b/warmup/prompt': Buffer.from('\x0b\0\0\0how can you'),
    });
    for (const model of ['falcon7b', '*']) {
      const { output } = await serve('--model-control-mode=explicit', `--load-model=${model}`);
      assert.match(output(), /^\| falcon7b +\| 1 +\| READY +\|$/m);
    }
    await serve('--model-control-mode=explicit');
    assert.deepEqual(await generate(), { error: "Request for unknown model: 'falcon7b' is not found" });
    const { stdout } = await promisify(execFile)(curl!, [
      ...['-s', '-o', '/dev/null', '-w', '%{http_code}', '-X', 'POST'],
      `${url}/v2/repository/models/falcon7b/load`,
    ]);
    assert.equal(stdout, '200');
    assert.match(JSON.stringify(await generate()), /how can you be /);
  });

  test('a warm-up that fails is the reason why the model does not load', async () => {
    repository.write({
      'falcon7b/config.pbtxt': CONFIG + IO + WARM_UP,
      'falcon7b/warmup/prompt': Buffer.alloc(4), // an empty string, which this model refuses
    });
    const { status, stderr } = await runTriton(['serve', `--model-repository=${repository.path}`, backend]);
    assert.equal(status, 1);
    const reason = "failed to run warmup sample 'a prompt': text_input is empty";
    assert.ok(stderr.includes(`failed to load 'falcon7b' version 1: Invalid argument: ${reason}`), stderr);
  });

  test('without completion a configuration has to be whole', async () => {
    repository.write({ 'falcon7b/config.pbtxt': CONFIG });
    const options = ['--disable-auto-complete-config', backend];
    const { status, stderr } = await runTriton(['serve', `--model-repository=${repository.path}`, ...options]);
    assert.equal(status, 1);
    // The model itself asks for an output that nobody has added.
    assert.match(stderr, /failed to load 'falcon7b' version 1: Internal: TypeError: .*model\.py\(\d+\): initialize/);
    assert.match(stderr, /^error: creating server: Internal - failed to load all models$/m);
    repository.write({ 'falcon7b/config.pbtxt': CONFIG + IO });
    await serve('--disable-auto-complete-config');
    assert.match(JSON.stringify(await generate()), /how can you be /);
  });
});
