import { readStod } from './parse-value.js';

/** What `summary_quantiles` means. */
export interface ParsedQuantiles {
  readonly summaryQuantiles: readonly number[];
  /** Pairs that are none, in the original's words; they are passed over. */
  readonly quantileFaults: readonly string[];
}

/** `0.5:0.05,0.99:0.001`: quantiles and the errors allowed for their ranks. Ours are exact in rank: errors are only read. */
export function parseQuantiles(value: string): ParsedQuantiles {
  const summaryQuantiles: number[] = [];
  const quantileFaults: string[] = [];
  for (const pair of value.split(',')) {
    const [quantile = '', error] = pair.split(':');
    const number = readStod(quantile);
    const margin = readStod(error ?? '');
    if (error === undefined) {
      quantileFaults.push(`Invalid option: [${pair}]. No ':' delimiter found. Expected format is <quantile>:<error>`);
    } else if (Number.isNaN(number) || Number.isNaN(margin)) {
      quantileFaults.push(`Invalid option: [${pair}]. Error: stod`);
    } else if (!(number >= 0 && number <= 1) || !(margin >= 0)) {
      quantileFaults.push(`Invalid option: [${pair}]. A quantile and its error are numbers from 0 to 1.`);
    } else {
      summaryQuantiles.push(number);
    }
  }
  return { summaryQuantiles, quantileFaults };
}
