import type { ParseContext } from '../options/perf-option.js';
import { readSchedule } from './read-schedule.js';

/** What follows from the options together, once all are read. */
export function completeOptions(context: ParseContext): void {
  const { options } = context;
  options.load.loadMode = context.deprecatedConcurrency ? 'Concurrency' : (context.chosenMode ?? 'Concurrency');
  if (!options.connection.urlGiven) {
    if (options.connection.protocol === 'grpc')
      options.connection.url = options.connection.serviceKind === 'tfserving' ? 'localhost:8500' : 'localhost:8001';
    else options.connection.url = 'localhost:8000';
  }
  if (!options.load.maxThreadsGiven && options.load.loadMode === 'Concurrency') {
    options.load.maxThreads = Math.max(16, options.load.concurrency.end);
  }
  if (options.load.loadMode === 'CustomIntervals') options.load.search = 'none';
  if (options.load.loadMode === 'FixedSchedule') {
    options.load.requestCount = readSchedule(options).length - options.load.warmupRequestCount;
  }
  if (options.load.requestCount > 0) {
    options.measure.measurementMode = 'count_windows';
    options.measure.measurementRequestCount = options.load.requestCount;
  }
  if (options.connection.metricsUrl === '') {
    // perf_analyzer looks for the host before the first colon, which a scheme would spoil.
    const address = options.connection.url.replace(/^[A-Za-z]+:\/\//, '');
    const colon = address.indexOf(':');
    options.connection.metricsUrl = `${colon < 0 ? 'localhost' : address.slice(0, colon)}:8002/metrics`;
  }
}
