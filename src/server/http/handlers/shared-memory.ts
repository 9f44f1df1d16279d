/** `/v2/{system,cuda}sharedmemory[/region/N]/{status,register,unregister}` */
import { invalidArg } from '../../../base/error.js';
import type { JsonValue } from '../../../protocol/json/json-value.js';
import { jsonString } from '../../../protocol/json/write-json.js';
import type { SharedMemoryKind } from '../../shared-memory/regions.js';
import { withBody } from '../message/json-body.js';
import { sendEmptyJson, sendJson } from '../message/respond.js';
import type { HttpHandler } from '../route/endpoint.js';

/** Size of a cudaIpcMemHandle_t. */
const CUDA_HANDLE_BYTES = 64;

/** Shows the registered regions of a kind, or the one that the path names. */
export function sharedMemoryStatus(kind: SharedMemoryKind): HttpHandler {
  return ({ sharedMemory }, { region }, _request, reply) => {
    // There are no CUDA regions, so only this form is ever written.
    const regions = sharedMemory
      .status(kind, region)
      .map(
        ({ name, key, offset, byteSize }) =>
          `{"name":${jsonString(name)},"key":${jsonString(key)},"offset":${offset},"byte_size":${byteSize}}`,
      );
    sendJson(reply, `[${regions.join(',')}]`);
  };
}

/** Registers a region of system shared memory; refuses CUDA memory. */
export function sharedMemoryRegister(kind: SharedMemoryKind): HttpHandler {
  return (context, { region }, request, reply) => {
    const { sharedMemory } = context;
    sharedMemory.checkAllowed();
    if (region === '') throw invalidArg(`'region name' is necessary to register ${kind} shared memory region`);
    withBody(context, request, reply, (body) => {
      if (kind === 'cuda') {
        checkCudaHandle(body);
        sharedMemory.registerCuda(region);
      }
      const key = field(body, 'key').asString();
      const offset = body.member('offset')?.asUint64() ?? 0n;
      const byteSize = field(body, 'byte_size').asUint64();
      sharedMemory.register({ name: region, key: cutAtNul(key), offset, byteSize });
      sendEmptyJson(reply);
    });
  };
}

/** Forgets the region that the path names, or all of the kind. The body does not count. */
export function sharedMemoryUnregister(kind: SharedMemoryKind): HttpHandler {
  return ({ sharedMemory }, { region }, _request, reply) => {
    sharedMemory.checkAllowed();
    sharedMemory.unregister(kind, region);
    sendEmptyJson(reply);
  };
}

function field(body: JsonValue, name: string): JsonValue {
  const value = body.member(name);
  if (value === undefined) throw invalidArg(`Shared memory register request has no '${name}' field`);
  return value;
}

/** Names of objects are C strings. */
function cutAtNul(key: string): string {
  const nul = key.indexOf('\0');
  return nul < 0 ? key : key.slice(0, nul);
}

function checkCudaHandle(body: JsonValue): void {
  const handle = field(body, 'raw_handle').required('b64').asString();
  body.required('byte_size').asUint64();
  body.required('device_id').asUint64();
  if (Buffer.from(handle, 'base64').length !== CUDA_HANDLE_BYTES) {
    throw invalidArg("'raw_handle' must be a valid base64 encoded cudaIpcMemHandle_t");
  }
}
