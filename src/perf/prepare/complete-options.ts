import type { ParseContext } from '../options/option.js';
import { readSchedule } from './read-schedule.js';

/** What follows from the options together, once all are read (spec of the load generator, end of section 4.1). */
export function completeOptions(context: ParseContext): void {
  const { options } = context;
  options.loadMode = context.deprecatedConcurrency ? 'Concurrency' : (context.chosenMode ?? 'Concurrency');
  if (!options.urlGiven) {
    if (options.protocol === 'grpc')
      options.url = options.serviceKind === 'tfserving' ? 'localhost:8500' : 'localhost:8001';
    else options.url = 'localhost:8000';
  }
  if (!options.maxThreadsGiven && options.loadMode === 'Concurrency') {
    options.maxThreads = Math.max(16, options.concurrency.end);
  }
  if (options.loadMode === 'CustomIntervals') options.search = 'none';
  if (options.loadMode === 'FixedSchedule') {
    options.requestCount = readSchedule(options).length - options.warmupRequestCount;
  }
  if (options.requestCount > 0) {
    options.measurementMode = 'count_windows';
    options.measurementRequestCount = options.requestCount;
  }
  if (options.metricsUrl === '') {
    // The original looks for the host before the first colon, which a scheme would spoil.
    const address = options.url.replace(/^[A-Za-z]+:\/\//, '');
    const colon = address.indexOf(':');
    options.metricsUrl = `${colon < 0 ? 'localhost' : address.slice(0, colon)}:8002/metrics`;
  }
}
