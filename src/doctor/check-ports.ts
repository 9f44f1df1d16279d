import { createServer } from 'node:net';
import type { Check } from './check.js';

const PORTS = [
  { name: 'HTTP', port: 8000, option: '--http-port' },
  { name: 'gRPC', port: 8001, option: '--grpc-port' },
  { name: 'metrics', port: 8002, option: '--metrics-port' },
] as const;

/** Whether the ports that a server takes by default are free. `ports` stand in for them in tests. */
export async function checkPorts(ports: readonly number[] = PORTS.map(({ port }) => port)): Promise<Check> {
  const rows = await Promise.all(
    PORTS.map(async ({ name, option }, i) => {
      const port = ports[i] as number;
      return { name, option, port, problem: await problemOf(port) };
    }),
  );
  const taken = rows.filter(({ problem }) => problem !== undefined);
  const found = rows.map(({ name, port, problem }) => `${port} (${name}): ${problem ?? 'free'}`);
  const facts = Object.fromEntries(rows.map(({ port, problem }) => [String(port), problem ?? 'free']));
  const base = { id: 'ports', title: 'Ports', found, facts };
  if (taken.length === 0) return { ...base, status: 'ok', follows: 'a server can be started without naming ports' };
  const options = taken.map(({ option }) => `${option} <other port>`).join(' ');
  return {
    ...base,
    status: 'warning',
    follows: 'a server without options for its ports would not start',
    remedy: `Start it with ${options}, or end what uses the port.`,
  };
}

function problemOf(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      resolve(error.code === 'EADDRINUSE' ? 'in use' : (error.code ?? error.message));
    });
    server.listen(port, '0.0.0.0', () => server.close(() => resolve(undefined)));
  });
}
