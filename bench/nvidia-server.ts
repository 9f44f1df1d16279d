import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { freePorts } from '../test/support/machine/free-port.js';
import { describeProcess, ROOT, type ServerProcess } from './server-process.js';

/** The script that starts NVIDIA's server, to compare with; it is not part of the project. TRITON_NVIDIA_SERVER names another. */
const SCRIPT = process.env['TRITON_NVIDIA_SERVER'] ?? path.join(ROOT, '../shared/tools/original');

/** How long NVIDIA's server may take to start, in ms. */
const PATIENCE_MS = 120_000;

/** True where NVIDIA's server can be started. */
export function hasNvidiaServer(): boolean {
  return existsSync(SCRIPT);
}

/** The interpreter that the Python models of NVIDIA's server run in; installs that server where that has not been done. */
export function nvidiaPython(): string {
  const { stdout } = spawnSync(SCRIPT, ['python', '-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' });
  return stdout.trim();
}

/** Starts NVIDIA's server over a repository, on free ports. */
export async function startNvidiaServer(repository: string): Promise<ServerProcess> {
  const [http, grpc, metrics] = await freePorts(3);
  const ports = [http, grpc, metrics] as [number, number, number];
  const begin = performance.now();
  // The script becomes the server (exec), so the child's id is the server's.
  const child = spawn(SCRIPT, ['server', repository, ...ports.map(String)], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output = (output + chunk).slice(-20_000);
    });
  }
  let ended = false;
  child.on('close', () => {
    ended = true;
  });
  while (!(await isReady(ports[0]))) {
    if (ended || performance.now() - begin > PATIENCE_MS) throw new Error(`NVIDIA's server did not start:\n${output}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return describeProcess(child, { http: ports[0], grpc: ports[1] }, performance.now() - begin);
}

async function isReady(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/v2/health/ready`)).status === 200;
  } catch {
    return false;
  }
}
