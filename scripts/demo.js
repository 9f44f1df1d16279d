// The main job on the shipped fixtures: a model repository is made, the server comes up on free ports, images are
// classified, the model is measured, the server is stopped. Every command is shown as a person would type it.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');
const folder = mkdtempSync(path.join(os.tmpdir(), 'triton-demo-'));
const repository = path.join(folder, 'models');
const mug = path.join(root, 'fixtures/images/mug.jpg');
const csv = path.resolve('perf_results.csv');

try {
  await triton('repo', 'init', repository);
  const server = await serve(repository);
  try {
    await triton('image-client', '-m', 'densenet_onnx', '-c', '3', '-s', 'INCEPTION', '-u', server.http, mug);
    const measure = ['-i', 'grpc', '-u', server.grpc, '--concurrency-range', '1:4', '--measurement-interval', '1000'];
    await triton('perf', '-m', 'densenet_onnx', ...measure, '-s', '50', '--keep-going', '-f', csv, '--chart');
    console.log(`\nThe figures are in ${csv}.`);
  } finally {
    await server.stop();
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Runs one triton command to its end; a status other than 0 ends the demonstration. */
async function triton(...args) {
  const status = await new Promise((resolve) => start(args, 'inherit').on('close', resolve));
  if (status !== 0) throw new Error(`triton ${args[0]} ended with status ${status}`);
}

/** Starts the server, passes its output on, and resolves when all three services are up. */
function serve(models) {
  const ports = ['--http-port', '0', '--grpc-port', '0', '--metrics-port', '0'];
  const child = start(['serve', '--model-repository', models, ...ports], 'pipe');
  const exited = new Promise((resolve) => child.on('close', resolve));
  let seen = '';
  return new Promise((resolve, reject) => {
    const look = (text) => {
      seen += text;
      const port = (service) => new RegExp(`Started ${service} at [^"]*:(\\d+)`).exec(seen)?.[1];
      const [http, grpc, metrics] = ['HTTPService', 'GRPCInferenceService', 'Metrics Service'].map(port);
      if (http && grpc && metrics) resolve({ http: `localhost:${http}`, grpc: `localhost:${grpc}`, stop });
    };
    for (const [stream, out] of [
      [child.stdout, process.stdout],
      [child.stderr, process.stderr],
    ]) {
      stream.setEncoding('utf8').on('data', (text) => {
        out.write(text);
        look(text);
      });
    }
    exited.then((status) => reject(new Error(`triton serve ended with status ${status}`)));
  });

  async function stop() {
    child.kill('SIGTERM');
    const status = await exited;
    if (status !== 0) throw new Error(`triton serve ended with status ${status}`);
  }
}

function start(args, stdio) {
  console.log(
    `\n$ triton ${args.map((arg) => (path.relative('', arg).startsWith('..') || !path.isAbsolute(arg) ? arg : path.relative('', arg))).join(' ')}`,
  );
  return spawn(process.execPath, [path.join(root, 'bin/triton.js'), ...args], { stdio: ['ignore', stdio, stdio] });
}
