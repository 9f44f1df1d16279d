/** Text generation by Python models as people write them: whole responses, and tokens one by one over both protocols. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createClient } from '../../src/client/create-client.js';
import { makeTensor, tensorStrings } from '../../src/protocol/tensor-values.js';
import { pythonWithNumpy } from '../support/programs/python.js';
import { makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';
import { httpRequest } from '../support/wire/http-request.js';

const SOURCES = fileURLToPath(new URL('../../../test/python/text_generation', import.meta.url));
const python = pythonWithNumpy();
const TOKENS = 8;
const PROMPT = 'how can you be';
const source = (name: string): string => readFileSync(path.join(SOURCES, name), 'utf8');
const config = (weights: string): string => `backend: "python"
parameters { key: "max_new_tokens" value { string_value: "${TOKENS}" } }
parameters { key: "weights" value { string_value: "${weights}" } }
`;

describe('text generation', { skip: python === undefined }, () => {
  const repository = makeRepository({
    'writer/config.pbtxt': config('weights'),
    'writer/weights/.keep': '',
    'writer/1/model.py': source('model.py'),
    'writer/1/tiny_lm.py': source('tiny_lm.py'),
    'streamer/config.pbtxt': config('../writer/weights'),
    'streamer/1/model.py': source('stream_model.py'),
    'streamer/1/tiny_lm.py': source('tiny_lm.py'),
  });
  let server: TestServer;
  let whole = '';

  before(async () => {
    const made = execFileSync(python!, [path.join(SOURCES, 'make_model.py'), `${repository.path}/writer/weights`], {
      encoding: 'utf8',
    });
    if (made.trim() !== 'transformers') {
      console.error('\n*** transformers is not installed: text generation was tested with a model on numpy ***\n');
    }
    server = await startTestServer([repository.path], [`--backend-config=python,python-executable=${python}`]);
    whole = await generate();
  });

  after(async () => {
    await server?.stop();
    repository.remove();
  });

  async function post(target: string, body: unknown): Promise<{ status: number; json: unknown }> {
    return await httpRequest(server.http, 'POST', `/v2/models/${target}`, JSON.stringify(body));
  }

  async function generate(): Promise<string> {
    const { status, json } = await post('writer/generate', { text_input: PROMPT });
    assert.equal(status, 200, JSON.stringify(json));
    return (json as { text_output: string }).text_output;
  }

  /** A directory in which a file for each token lets the model make the next one. */
  function pacing(name: string): { folder: string; goOn(token: number): void } {
    const folder = path.join(repository.path, name);
    mkdirSync(folder);
    return { folder, goOn: (token) => writeFileSync(path.join(folder, String(token)), '') };
  }

  test('/infer answers with the continued text, and the configuration is complete', async () => {
    const body = { inputs: [{ name: 'text_input', datatype: 'BYTES', shape: [1], data: [PROMPT] }] };
    const { json } = await post('writer/infer', body);
    assert.deepEqual(json, {
      model_name: 'writer',
      model_version: '1',
      outputs: [{ name: 'text_output', datatype: 'BYTES', shape: [1], data: [whole] }],
    });
    assert.ok(whole.startsWith(`${PROMPT} `), whole);
    assert.equal(whole.split(' ').length, PROMPT.split(' ').length + TOKENS);
    const answer = await httpRequest(server.http, 'GET', '/v2/models/writer/config');
    const { input, output } = answer.json as { input: { name: string }[]; output: { name: string }[] };
    assert.deepEqual([input[0]?.name, output[0]?.name], ['text_input', 'text_output']);
  });

  test("/generate answers the same again, and with the model's own error", async () => {
    assert.equal(await generate(), whole);
    const { status, json } = await post('writer/generate', { text_input: '' });
    assert.deepEqual([status, json], [400, { error: 'text_input is empty' }]);
  });

  test('/generate_stream: each token is here before the model makes the next one', async () => {
    const pace = pacing('pace-http');
    const body = JSON.stringify({ text_input: PROMPT, parameters: { pace: pace.folder } });
    const tokens: string[] = [];
    await new Promise<void>((resolve, reject) => {
      const options = {
        port: server.http,
        host: '127.0.0.1',
        method: 'POST',
        path: '/v2/models/streamer/generate_stream',
      };
      const request = http.request({ ...options, agent: false }, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          const events = (text + chunk).split('\n\n');
          text = events.pop()!;
          for (const event of events) {
            tokens.push((JSON.parse(event.replace(/^data: /, '')) as { text_output: string }).text_output);
            pace.goOn(tokens.length);
          }
        });
        response.on('end', resolve).on('error', reject);
      });
      request.on('error', reject);
      request.end(body);
    });
    assert.equal([PROMPT, ...tokens].join(' '), whole);
  });

  test('gRPC stream: each token is here before the model makes the next one', async () => {
    const client = await createClient({ protocol: 'grpc', url: `127.0.0.1:${server.grpc}` });
    const pace = pacing('pace-grpc');
    const calls = client.stream();
    const inputs = [makeTensor('text_input', 'BYTES', [PROMPT], [1])];
    await calls.send(
      { modelName: 'streamer', inputs, parameters: { pace: pace.folder } },
      { enableEmptyFinalResponse: true },
    );
    const tokens: string[] = [];
    for await (const event of calls) {
      assert.equal(event.error, undefined);
      for (const output of event.result?.outputs ?? []) {
        tokens.push(...tensorStrings(output));
        pace.goOn(tokens.length);
      }
      if (event.final) calls.end();
    }
    await client.close();
    assert.equal([PROMPT, ...tokens].join(' '), whole);
  });

  test('a client that leaves ends the generation', async () => {
    const pace = pacing('pace-cancel');
    const client = await createClient({ protocol: 'grpc', url: `127.0.0.1:${server.grpc}` });
    const calls = client.stream();
    const inputs = [makeTensor('text_input', 'BYTES', [PROMPT], [1])];
    await calls.send({ modelName: 'streamer', inputs, parameters: { pace: pace.folder } });
    for await (const event of calls) {
      assert.equal(event.error, undefined);
      calls.cancel();
      break;
    }
    await client.close();
    // The instance is free again: it answers the next request although nobody let the first one go on.
    const tokens: string[] = [];
    const next = pacing('pace-next');
    for (let token = 1; token <= TOKENS; token++) next.goOn(token);
    const answer = await httpRequest(
      server.http,
      'POST',
      '/v2/models/streamer/generate_stream',
      JSON.stringify({ text_input: PROMPT, parameters: { pace: next.folder } }),
    );
    for (const [, token] of answer.text.matchAll(/"text_output":"(\w+)"/g)) tokens.push(token!);
    assert.equal([PROMPT, ...tokens].join(' '), whole);
  });
});
