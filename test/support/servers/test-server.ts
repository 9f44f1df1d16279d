/** Starts real servers in this process, on free ports and on repositories that a test writes. */
import { defaultLogSettings, ServerLog } from '../../../src/server/log/server-log.js';
import { resolveOptions } from '../../../src/server/options/resolve-options.js';
import { type RunningServer, startServer } from '../../../src/server/server.js';
import { serverStarts, serverStopped } from '../ledger/ledger.js';
import { FREE_PORTS } from '../machine/free-port.js';

/** A server with its log collected. */
export interface TestServer extends RunningServer {
  readonly http: number;
  readonly grpc: number;
  readonly metrics: number;
  /** Everything logged so far. */
  logText(): string;
  /** Resolves when the log has the text `times` times (default once), also from before the call; bounded. */
  logged(text: string, times?: number): Promise<void>;
}

/** Longest that a test waits for a line of the log. */
const LOG_WAIT_MS = 30_000;

/**
 * Starts a server on 127.0.0.1 and free ports. Its `stop` rejects when the server leaves anything behind (ledger/ledger.ts). `onLog` gets
 * what is logged, also of a start that fails.
 */
export async function startTestServer(
  repositories: readonly string[],
  args: readonly string[] = [],
  onLog: (part: string) => void = () => {},
): Promise<TestServer> {
  const line = [...repositories.map((repository) => `--model-repository=${repository}`), ...FREE_PORTS, ...args];
  const resolved = resolveOptions(line, () => {});
  if (resolved.kind !== 'serve') throw new Error(resolved.kind === 'error' ? resolved.message : 'help');
  let text = '';
  const waiting = new Set<() => void>();
  const add = (part: string): void => {
    text += part;
    onLog(part);
    for (const look of waiting) look();
  };
  const logged = (wanted: string, times = 1): Promise<void> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.delete(look);
        reject(new Error(`the log lacks '${wanted}' (${times} times):\n${text}`));
      }, LOG_WAIT_MS);
      const look = (): void => {
        if (text.split(wanted).length <= times) return;
        clearTimeout(timer);
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
    });
  const log = new ServerLog(
    { ...defaultLogSettings, ...resolved.options.log },
    { stdout: add, stderr: add, width: 500 },
  );
  serverStarts();
  const server = await startServer(resolved.options, log).catch(async (reason) => {
    await serverStopped();
    throw reason;
  });
  const { http = 0, grpc: grpcPort = 0, metrics = 0 } = server.ports;
  let stopped: Promise<boolean> | undefined;
  const stop = (): Promise<boolean> => {
    stopped ??= server.stop().then(async (clean) => {
      await serverStopped();
      return clean;
    });
    return stopped;
  };
  return { ...server, stop, http, grpc: grpcPort, metrics, logText: () => text, logged };
}
