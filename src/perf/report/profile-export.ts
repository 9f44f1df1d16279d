import { nowNs } from '../../base/clock.js';
import type { Datatype } from '../../protocol/datatype.js';
import type { ExportedLevel } from '../levels/measured-level.js';
import type { RequestDetail } from '../load/load-messages.js';
import type { PerfOptions } from '../options/perf-options.js';
import { checkReportFile, writeReportFile } from './report-file.js';
import type { FinishedRun, Reporter, ReportOutput } from './reporter.js';

/** What the export is made from. */
export interface ExportSource extends Pick<FinishedRun, 'options' | 'model' | 'data' | 'exported'> {
  /** Version of this program. */
  readonly version: string;
  /** What to add to the monotonic clock's nanoseconds to get those since the epoch. */
  readonly epochOffsetNs: bigint;
}

/** The option that names the file. */
const OPTION = '--profile-export-file';

/** The profile export: a file with every request as JSON (profile_data_exporter.cc of perf_analyzer). */
export function profileExport(
  { report: { profileExportFile } }: PerfOptions,
  { version, warn }: ReportOutput,
): Reporter {
  checkReportFile(profileExportFile, OPTION);
  return {
    runFinished(run) {
      const epochOffsetNs = BigInt(Date.now()) * 1_000_000n - BigInt(Math.round(nowNs()));
      const document = profileDocument({ ...run, version, epochOffsetNs }, warn);
      writeReportFile(profileExportFile, document, OPTION);
    },
  };
}

/** The document: compact, written by hand because JSON.stringify knows neither 64-bit integers nor `1.0`. */
export function profileDocument(source: ExportSource, warn: (line: string) => void): string {
  const { options, version } = source;
  const experiments = source.exported.map((level) => experimentJson(level, source, warn));
  return `{"experiments":[${experiments.join(',')}],"version":${quoted(version)},"service_kind":${quoted(options.connection.serviceKind)},"endpoint":${quoted(options.connection.endpoint)}}`;
}

function experimentJson(level: ExportedLevel, source: ExportSource, warn: (line: string) => void): string {
  const time = (ns: number): string => String(source.epochOffsetNs + BigInt(Math.round(ns)));
  const { loadMode } = source.options.load;
  const experiment =
    loadMode === 'Concurrency' || loadMode === 'PeriodicConcurrency'
      ? `{"mode":"concurrency","value":${level.level}}`
      : `{"mode":"request_rate","value":${real(loadMode === 'FixedSchedule' ? 0 : level.level)}}`;
  // Without windows perf_analyzer writes the limits of its counters.
  const boundaries = loadMode === 'PeriodicConcurrency' ? ['0', '18446744073709551615'] : level.boundariesNs.map(time);
  const requests = level.requests.map((request) => requestJson(request, source, time, warn));
  return `{"experiment":${experiment},"requests":[${requests.join(',')}],"window_boundaries":[${boundaries.join(',')}]}`;
}

function requestJson(
  request: RequestDetail,
  { data, model, options }: ExportSource,
  time: (ns: number) => string,
  warn: (line: string) => void,
): string {
  const step = data.streams[request.stream]?.[request.step];
  const inputs = (step?.inputs ?? []).map(({ name, data: bytes }) => {
    const datatype = model.inputs.find((input) => input.name === name)?.datatype ?? 'BYTES';
    // perf_analyzer does not see what lies in shared memory.
    const shown = options.input.sharedMemory === 'none' ? valueJson(datatype, bytes, warn) : '""';
    return `${quoted(name)}:${shown}`;
  });
  // A response that only says "final" has no outputs, but perf_analyzer names them all the same.
  const outputs = request.outputs.map((response) => {
    const members =
      response.length === 0
        ? model.outputs.map(({ name }) => `${quoted(name)}:""`)
        : response.map(({ name, datatype, data: bytes }) => `${quoted(name)}:${valueJson(datatype, bytes, warn)}`);
    return `{${members.join(',')}}`;
  });
  const sequence = request.sequenceId === 0 ? '' : `"sequence_id":${request.sequenceId},`;
  return `{"timestamp":${time(request.startNs)},${sequence}"request_inputs":{${inputs.join(',')}},"response_timestamps":[${request.responseNs.map(time).join(',')}],"response_outputs":[${outputs.join(',')}]}`;
}

/** How an element is read and shown. */
const ELEMENTS: Readonly<Partial<Record<Datatype, { size: number; read(view: DataView, offset: number): string }>>> = {
  BOOL: { size: 1, read: (view, offset) => (view.getUint8(offset) === 0 ? 'false' : 'true') },
  UINT8: { size: 1, read: (view, offset) => String(view.getUint8(offset)) },
  UINT16: { size: 2, read: (view, offset) => String(view.getUint16(offset, true)) },
  UINT32: { size: 4, read: (view, offset) => String(view.getUint32(offset, true)) },
  UINT64: { size: 8, read: (view, offset) => String(view.getBigUint64(offset, true)) },
  INT8: { size: 1, read: (view, offset) => String(view.getInt8(offset)) },
  INT16: { size: 2, read: (view, offset) => String(view.getInt16(offset, true)) },
  INT32: { size: 4, read: (view, offset) => String(view.getInt32(offset, true)) },
  INT64: { size: 8, read: (view, offset) => String(view.getBigInt64(offset, true)) },
  FP32: { size: 4, read: (view, offset) => real(view.getFloat32(offset, true)) },
  FP64: { size: 8, read: (view, offset) => real(view.getFloat64(offset, true)) },
};

function valueJson(datatype: Datatype, bytes: Uint8Array, warn: (line: string) => void): string {
  if (bytes.length === 0) return '""';
  if (datatype === 'BYTES') return quoted(Buffer.from(bytes.buffer, bytes.byteOffset + 4, bytes.length - 4).toString());
  const element = ELEMENTS[datatype];
  if (element === undefined) {
    warn(`WARNING: unsupported data type: '${datatype}'`);
    return 'null';
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const values: string[] = [];
  for (let offset = 0; offset + element.size <= bytes.length; offset += element.size) {
    values.push(element.read(view, offset));
  }
  return values.length === 1 ? (values[0] as string) : `[${values.join(',')}]`;
}

/** A number that shows that it is not an integer; null for what JSON cannot express. */
function real(value: number): string {
  if (!Number.isFinite(value)) return 'null';
  const shown = JSON.stringify(value);
  return /^-?\d+$/.test(shown) ? `${shown}.0` : shown;
}

function quoted(value: string): string {
  return JSON.stringify(value);
}
