import type { Http1Reply, Http1Request } from '../../transport/http1/http1-api.js';
import type { ServerContext } from '../server-context.js';
import { sharedMemoryRefusal, unknownRegion } from '../shared-memory.js';
import { sendJson } from './respond.js';
import type { HttpRoute } from './route.js';

/** `/v2/{system,cuda}sharedmemory[/region/N]/{status,register,unregister}`: no region can be registered. */
export function sharedMemory(
  context: ServerContext,
  route: HttpRoute,
  _request: Http1Request,
  reply: Http1Reply,
): void {
  if (route.area !== 'shared-memory-status') throw sharedMemoryRefusal(context.options.allowClientSharedMemory);
  if (route.region !== undefined && route.region !== '') throw unknownRegion(route.kind ?? 'system', route.region);
  sendJson(reply, '[]');
}
