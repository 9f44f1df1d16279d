/**
 * Metric families that models make themselves. Families and series are shared by
 * name and by labels, and live as long as one user holds them.
 */

import { TritonError } from '../../base/error.js';
import type {
  CustomFamily,
  CustomSeries,
  FamilyHandle,
  MetricFamilies,
  MetricHandle,
  MetricKind,
} from '../../contract/metrics.js';
import { isServerMetric } from './server-metric-names.js';

const METRIC_NAME = /^(?!__)[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const LABEL_NAME = /^(?!__)[a-zA-Z_][a-zA-Z0-9_]*$/;

class Family implements CustomFamily {
  users = 0;
  readonly byLabels = new Map<string, Series>();

  constructor(
    readonly name: string,
    readonly description: string,
    readonly kind: MetricKind,
  ) {}

  get series(): readonly CustomSeries[] {
    return [...this.byLabels.values()];
  }
}

class Series implements CustomSeries {
  users = 0;
  value = 0;
  readonly counts: number[];

  constructor(
    readonly key: string,
    readonly labels: Readonly<Record<string, string>>,
    readonly bounds: readonly number[] | undefined,
  ) {
    this.counts = bounds === undefined ? [] : new Array(bounds.length + 1).fill(0);
  }
}

/** The families of one server. */
export class CustomMetrics implements MetricFamilies {
  readonly #families = new Map<string, Family>();

  /** All families, in the order of their making. */
  families(): readonly CustomFamily[] {
    return [...this.#families.values()];
  }

  /** A user's hold on the family of a name, which is made if there is none. Throws for a bad name or another kind. */
  family(name: string, description: string, kind: MetricKind): FamilyHandle {
    let family = this.#families.get(name);
    if (family === undefined) {
      if (!METRIC_NAME.test(name)) throw new TritonError('INVALID_ARG', 'Invalid metric name');
      if (isServerMetric(name)) {
        throw new TritonError(
          'INVALID_ARG',
          `Metric name '${name}' is one of the server's own metrics: choose another name`,
        );
      }
      family = new Family(name, description, kind);
      this.#families.set(name, family);
    } else if (family.kind !== kind) {
      throw new TritonError('INVALID_ARG', 'Family name already exists with different type');
    }
    family.users++;
    return new FamilyHold(family, () => this.#families.delete(name));
  }
}

/** A user's hold on a family. */
class FamilyHold implements FamilyHandle {
  readonly #family: Family;
  readonly #remove: () => void;
  #released = false;

  constructor(family: Family, remove: () => void) {
    this.#family = family;
    this.#remove = remove;
  }

  /** A hold on the series with these labels, which is made if there is none. Throws for bad labels or buckets. */
  metric(labels: Readonly<Record<string, string>>, buckets: readonly number[]): MetricHandle {
    const family = this.#family;
    const names = Object.keys(labels).sort();
    for (const name of names) {
      if (!LABEL_NAME.test(name) || (family.kind === 'HISTOGRAM' && name === 'le')) {
        throw new TritonError('INVALID_ARG', 'Invalid label name');
      }
    }
    for (let i = 1; i < buckets.length; i++) {
      if (!(buckets[i]! > buckets[i - 1]!)) {
        throw new TritonError('INVALID_ARG', 'Bucket Boundaries must be strictly sorted');
      }
    }
    const key = JSON.stringify(names.map((name) => [name, labels[name]]));
    let series = family.byLabels.get(key);
    if (series === undefined) {
      series = new Series(key, { ...labels }, family.kind === 'HISTOGRAM' ? [...buckets] : undefined);
      family.byLabels.set(key, series);
    }
    series.users++;
    return new MetricHold(family, series);
  }

  /** Gives the hold up; the last one takes the family away. */
  release(): void {
    if (this.#released) return;
    this.#released = true;
    if (--this.#family.users === 0) this.#remove();
  }
}

/** A user's hold on a series, with the operations that its kind has. */
class MetricHold implements MetricHandle {
  readonly #family: Family;
  readonly #series: Series;
  #released = false;

  constructor(family: Family, series: Series) {
    this.#family = family;
    this.#series = series;
  }

  /** Adds to a counter or gauge. Throws for a histogram and for a counter's negative steps. */
  increment(step: number): void {
    const { kind } = this.#family;
    if (kind === 'HISTOGRAM') throw unsupported(kind, 'Increment');
    if (kind === 'COUNTER' && step < 0) {
      throw new TritonError(
        'INVALID_ARG',
        'TRITONSERVER_METRIC_KIND_COUNTER can only be incremented monotonically by non-negative values.',
      );
    }
    this.#series.value += step;
  }

  /** Sets a gauge. Throws for the other kinds. */
  set(value: number): void {
    if (this.#family.kind !== 'GAUGE') throw unsupported(this.#family.kind, 'Set');
    this.#series.value = value;
  }

  /** Adds an observation to a histogram. Throws for the other kinds. */
  observe(value: number): void {
    const { bounds, counts } = this.#series;
    if (bounds === undefined) throw unsupported(this.#family.kind, 'Observe');
    const index = bounds.findIndex((bound) => value <= bound);
    const bucket = index < 0 ? bounds.length : index;
    counts[bucket] = (counts[bucket] ?? 0) + 1;
    this.#series.value += value;
  }

  /** Value of a counter or gauge. Throws for a histogram. */
  value(): number {
    if (this.#family.kind === 'HISTOGRAM') throw unsupported('HISTOGRAM', 'Value');
    return this.#series.value;
  }

  /** Gives the hold up; the last one takes the series away. */
  release(): void {
    if (this.#released) return;
    this.#released = true;
    if (--this.#series.users === 0) this.#family.byLabels.delete(this.#series.key);
  }
}

function unsupported(kind: MetricKind, operation: string): TritonError {
  return new TritonError('UNSUPPORTED', `TRITONSERVER_METRIC_KIND_${kind} does not support ${operation}`);
}
