import net from 'node:net';

/** Arguments that have a server listen on free ports of 127.0.0.1. */
export const FREE_PORTS: readonly string[] = ['http', 'grpc', 'metrics'].flatMap((name) => [
  `--${name}-port=0`,
  `--${name}-address=127.0.0.1`,
]);

/** A port that was free a moment ago, for programs that cannot choose one themselves. */
export async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1);
  return port;
}

/** `count` of them, all held at once so that they differ. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, listen));
  const ports = servers.map((server) => (server.address() as net.AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

function listen(): Promise<net.Server> {
  return new Promise((resolve, reject) => {
    const server = net.createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve(server));
  });
}
