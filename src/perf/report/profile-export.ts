import { writeFileSync } from 'node:fs';
import type { Datatype } from '../../protocol/datatype.js';
import { PerfError } from '../error/perf-error.js';
import type { InputData } from '../input/input-data.js';
import type { LevelDetails } from '../levels/level-meter.js';
import type { RequestDetail } from '../load/load-messages.js';
import type { PerfModel } from '../model/perf-model.js';
import type { PerfOptions } from '../options/perf-options.js';

/** A level with all its requests. */
export interface ExportedLevel extends LevelDetails {
  readonly level: number;
}

/** What the export is made from. */
export interface ExportSource {
  readonly options: PerfOptions;
  readonly model: PerfModel;
  readonly data: InputData;
  readonly levels: readonly ExportedLevel[];
  /** Version of this program. */
  readonly version: string;
  /** What to add to the monotonic clock's nanoseconds to get those since the epoch. */
  readonly epochOffsetNs: bigint;
}

/** Writes every request as JSON (spec of the load generator, section 15). Throws when the file cannot be written. */
export function writeProfileExport(source: ExportSource, warn: (line: string) => void): void {
  try {
    writeFileSync(source.options.profileExportFile, profileExport(source, warn));
  } catch (reason) {
    if (!(reason instanceof Error && 'code' in reason)) throw reason;
    throw new PerfError('failed to open file for outputting raw profile data', { emptyLines: 0 });
  }
}

/** The document: compact, written by hand because JSON.stringify knows neither 64-bit integers nor `1.0`. */
export function profileExport(source: ExportSource, warn: (line: string) => void): string {
  const { options, version } = source;
  const experiments = source.levels.map((level) => experimentText(level, source, warn));
  return `{"experiments":[${experiments.join(',')}],"version":${text(version)},"service_kind":${text(options.serviceKind)},"endpoint":${text(options.endpoint)}}`;
}

function experimentText(level: ExportedLevel, source: ExportSource, warn: (line: string) => void): string {
  const time = (ns: number): string => String(source.epochOffsetNs + BigInt(Math.round(ns)));
  const { loadMode } = source.options;
  const experiment =
    loadMode === 'Concurrency' || loadMode === 'PeriodicConcurrency'
      ? `{"mode":"concurrency","value":${level.level}}`
      : `{"mode":"request_rate","value":${real(loadMode === 'FixedSchedule' ? 0 : level.level)}}`;
  // Without windows the original writes the limits of its counters.
  const boundaries = loadMode === 'PeriodicConcurrency' ? ['0', '18446744073709551615'] : level.boundariesNs.map(time);
  const requests = level.requests.map((request) => requestText(request, source, time, warn));
  return `{"experiment":${experiment},"requests":[${requests.join(',')}],"window_boundaries":[${boundaries.join(',')}]}`;
}

function requestText(
  request: RequestDetail,
  { data, model, options }: ExportSource,
  time: (ns: number) => string,
  warn: (line: string) => void,
): string {
  const step = data.streams[request.stream]?.[request.step];
  const inputs = (step?.inputs ?? []).map(({ name, data: bytes }) => {
    const datatype = model.inputs.find((input) => input.name === name)?.datatype ?? 'BYTES';
    // The original sees nothing of what lies in shared memory.
    const shown = options.sharedMemory === 'none' ? valueText(datatype, bytes, warn) : '""';
    return `${text(name)}:${shown}`;
  });
  // A response that only says "final" has no outputs, but the original names them all the same.
  const outputs = request.outputs.map((response) => {
    const members =
      response.length === 0
        ? model.outputs.map(({ name }) => `${text(name)}:""`)
        : response.map(({ name, datatype, data: bytes }) => `${text(name)}:${valueText(datatype, bytes, warn)}`);
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

function valueText(datatype: Datatype, bytes: Uint8Array, warn: (line: string) => void): string {
  if (bytes.length === 0) return '""';
  if (datatype === 'BYTES') return text(Buffer.from(bytes.buffer, bytes.byteOffset + 4, bytes.length - 4).toString());
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

/** A number that shows that it is no integer; null for what JSON cannot say. */
function real(value: number): string {
  if (!Number.isFinite(value)) return 'null';
  const shown = JSON.stringify(value);
  return /^-?\d+$/.test(shown) ? `${shown}.0` : shown;
}

function text(value: string): string {
  return JSON.stringify(value);
}
