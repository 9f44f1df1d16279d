import { readFileSync } from 'node:fs';
import { endBySignal, endNow } from '../../base/process-end.js';
import { processOutputs } from '../log/process-outputs.js';
import type { StopRequest } from './stop-request.js';

/** A terminal and a program between may both pass one Ctrl-C on: what comes so soon after the first is the same, in ms. */
const SAME_MS = 500;

/** What the stop may take beyond the exit timeout before the process is ended from here, in ms. */
const MARGIN_MS = 1000;

/**
 * SIGINT and SIGTERM ask for the stop, in every state of the server. A second Ctrl-C ends the process at once; so does the
 * end of the exit timeout, when whatever should have ended in time did not. `first` has the signal that asked.
 */
export function watchSignals(request: StopRequest): { readonly first: NodeJS.Signals | undefined } {
  const seen: { first: NodeJS.Signals | undefined } = { first: undefined };
  let firstMs = 0;
  const onSignal = (name: NodeJS.Signals, number: number): void => {
    if (seen.first === undefined) {
      seen.first = name;
      firstMs = performance.now();
      processOutputs().stdout.write(`Signal (${number}) received.\n`);
      request.begin();
      setTimeout(
        () => {
          processOutputs().stderr.write('The exit timeout is over, and something did not end: exiting immediately.\n');
          endNow(1);
        },
        (request.countDown?.leftMs ?? 0) + MARGIN_MS,
      ).unref();
      return;
    }
    const again = name === 'SIGINT' && performance.now() - firstMs > SAME_MS;
    processOutputs().stdout.write(`Signal (${number}) received${again ? ' again: exiting immediately' : ''}.\n`);
    if (again) endBySignal(name);
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  // A terminal that goes away ends the server as ever, but nothing stays behind. Under nohup it does not.
  if (!ignoresHangup()) process.on('SIGHUP', endBySignal);
  // Node would open a debugger on a local port, which runs the code of every client that connects; log rotation sends this signal, too.
  process.on('SIGUSR1', () => {});
  process.on('uncaughtException', (reason) => {
    processOutputs().stderr.write(`${reason instanceof Error ? reason.stack : String(reason)}\n`);
    endNow(1);
  });
  return seen;
}

/** True when the process was started so that it ignores SIGHUP, which a handler would undo. */
function ignoresHangup(): boolean {
  try {
    const mask = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '1';
    return (BigInt(`0x${mask}`) & 1n) === 1n;
  } catch {
    return true; // It cannot be known here: the signal keeps its effect.
  }
}
