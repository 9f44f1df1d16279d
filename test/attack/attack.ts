import net from 'node:net';

/** What an attack may use. */
export interface Target {
  readonly httpPort: number;
  readonly grpcPort: number;
  readonly metricsPort: number;
  /** Whether the attack goes on: it ends by itself soon after this is false. */
  readonly going: () => boolean;
  /** Counts what was sent: requests, frames or connections. */
  sent(count?: number): void;
  /** A connection that is cut at the end of the attack, if it lives so long. Errors of it are expected: the server may cut it. */
  connect(port: number, options?: Omit<net.TcpNetConnectOpts, 'port'>): Promise<net.Socket>;
}

/** One way to attack. */
export interface Attack {
  readonly name: string;
  /** What is done, for people who read the table. */
  readonly about: string;
  run(target: Target): Promise<void>;
}

/** A target with a time limit and its own list of connections. */
export class TimedTarget implements Target {
  count = 0;
  readonly #milliseconds: number;
  #end: number | undefined;
  readonly #sockets = new Set<net.Socket>();

  constructor(
    readonly httpPort: number,
    readonly grpcPort: number,
    readonly metricsPort: number,
    seconds: number,
  ) {
    this.#milliseconds = seconds * 1000;
  }

  /** The time begins with the first question: what an attack prepares before does not count. */
  readonly going = (): boolean => {
    this.#end ??= performance.now() + this.#milliseconds;
    return performance.now() < this.#end;
  };

  sent(count = 1): void {
    this.count += count;
  }

  connect(port: number, options: Omit<net.TcpNetConnectOpts, 'port'> = {}): Promise<net.Socket> {
    return new Promise((resolve) => {
      const socket = net.connect({ host: '127.0.0.1', noDelay: true, ...options, port });
      this.#sockets.add(socket);
      const go = (): void => resolve(socket);
      socket.once('connect', go);
      socket.on('error', go);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        go();
      });
    });
  }

  /** Cuts all connections. */
  close(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }
}

/** Lets the event loop run, so that what was written goes out. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Waits. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Writes, and waits while the peer takes nothing, at most as long as the attack goes on. */
export async function write(target: Target, socket: net.Socket, bytes: Uint8Array | string): Promise<void> {
  if (socket.destroyed || !socket.writable) return;
  if (socket.write(bytes)) return;
  while (target.going() && socket.writableNeedDrain && !socket.destroyed) await pause(2);
}

/** Waits until the connection is over, or the attack. */
export async function untilClosed(target: Target, socket: net.Socket): Promise<void> {
  while (target.going() && !socket.destroyed && !socket.readableEnded) await pause(5);
}

/** Repeats rounds on N lanes at a time until the attack is over. */
export async function lanes(target: Target, count: number, round: (lane: number) => Promise<void>): Promise<void> {
  const lane = async (number: number): Promise<void> => {
    while (target.going()) {
      await round(number);
      await turn();
    }
  };
  await Promise.all(Array.from({ length: count }, (_, number) => lane(number)));
}

/** Waits for the end of the attack. */
export async function hold(target: Target): Promise<void> {
  while (target.going()) await pause(10);
}
