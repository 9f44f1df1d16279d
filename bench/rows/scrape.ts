import path from 'node:path';
import { type Contestant, compare, type Measured, measure } from '../measure.js';
import { ROOT, type ServerProcess, startTriton } from '../server-process.js';
import type { BenchContext, Row } from './context.js';
import { simplePlans } from './simple.js';

/**
 * What watching costs: `simple` over HTTP, concurrency 16, on one server that is scraped every second, that traces one
 * request in a hundred, and that does neither, in turns.
 */
export async function scrapeRows(context: BenchContext): Promise<Row[]> {
  const server = await startTriton(path.join(ROOT, 'fixtures/models'), [
    `--trace-config=triton,file=${path.join(context.folder, 'trace.json')}`,
    '--trace-config=rate=100',
    '--trace-config=triton,log-frequency=1000',
  ]);
  const plan = { ...simplePlans(context, 16).http, port: server.httpPort };
  const contestant: Contestant = { name: 'triton', server, plan };
  const [plain, scraped, traced]: [Measured[], Measured[], Measured[]] = [[], [], []];
  try {
    for (let round = 0; round <= context.rounds; round++) {
      const alone = await measure(contestant);
      const withScrapes = await whileScraped(server, () => measure(contestant));
      await setLevel(server, 'TIMESTAMPS');
      const withTraces = await measure(contestant);
      await setLevel(server, 'OFF');
      if (round === 0) continue;
      plain.push(alone);
      scraped.push(withScrapes);
      traced.push(withTraces);
    }
  } finally {
    await server.stop();
  }
  const rows = (what: string, ours: readonly Measured[], target: string): Row[] => {
    const throughput = compare(ours, plain, (measured) => measured.perSecond);
    const cpu = compare(ours, plain, (measured) => measured.cpuUsPerRequest);
    return [
      {
        what: `simple http, concurrency 16, ${what}: throughput`,
        ours: `${throughput.ours.toFixed(0)} /s`,
        reference: `without ${throughput.theirs.toFixed(0)} /s`,
        ratio: throughput.ratio.toFixed(3),
        target,
      },
      {
        what: `simple http, concurrency 16, ${what}: server CPU`,
        ours: `${cpu.ours.toFixed(1)} us`,
        reference: `without ${cpu.theirs.toFixed(1)} us`,
        ratio: cpu.ratio.toFixed(3),
        target: '',
      },
    ];
  };
  return [...rows('scraped every second', scraped, '>= 0.99'), ...rows('one request in 100 traced', traced, '')];
}

/** Fetches the metrics at the start of a run and every second of it. */
async function whileScraped(server: ServerProcess, run: () => Promise<Measured>): Promise<Measured> {
  const scrapes: Promise<void>[] = [];
  const scrape = (): void => {
    scrapes.push(fetchMetrics(server));
  };
  scrape();
  const timer = setInterval(scrape, 1000);
  try {
    return await run();
  } finally {
    clearInterval(timer);
    await Promise.all(scrapes);
  }
}

async function fetchMetrics({ metricsPort }: ServerProcess): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${metricsPort}/metrics`);
  const text = await response.text();
  if (!text.includes('nv_inference_request_success{model="simple"')) throw new Error('the metrics do not show simple');
}

async function setLevel({ httpPort }: ServerProcess, level: string): Promise<void> {
  const body = JSON.stringify({ trace_level: [level] });
  const response = await fetch(`http://127.0.0.1:${httpPort}/v2/trace/setting`, { method: 'POST', body });
  if (!response.ok) throw new Error(`the trace level could not be set: ${await response.text()}`);
}
