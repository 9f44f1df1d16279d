import type { RestrictedCategory } from '../../options/server-options.js';
import { OPENAPI_PATH } from '../openapi/document.js';

/** What a path asks for. */
export type HttpArea =
  | 'live'
  | 'ready'
  | 'model-ready'
  | 'server-metadata'
  | 'model-metadata'
  | 'config'
  | 'infer'
  | 'generate'
  | 'generate-stream'
  | 'statistics'
  | 'index'
  | 'load'
  | 'unload'
  | 'trace'
  | 'logging'
  | 'shared-memory-status'
  | 'shared-memory-register'
  | 'shared-memory-unregister'
  | 'openapi';

/** A path that is known. Names stand as sent: nothing is percent-decoded. */
export interface HttpRoute {
  readonly area: HttpArea;
  /** Name of the model; '' where the path has none. */
  readonly model: string;
  /** Digits, '' without a version. */
  readonly version: string;
  /** Repository segment of index, load and unload; undefined without one. */
  readonly repository?: string;
  /** Shared memory: its kind, and the region ('' = all). */
  readonly kind?: 'system' | 'cuda';
  readonly region?: string;
}

/** What holds for every path of an area. */
export interface AreaRule {
  readonly category: RestrictedCategory;
  readonly get: boolean;
  readonly post: boolean;
  /** Content type of errors. */
  readonly contentType: 'text/plain' | 'application/json';
}

const JSON_TYPE = 'application/json';

/** Rules by area (spec: wire protocol, sections 1.4, 1.6 and 2.1). */
export const AREA_RULES: Readonly<Record<HttpArea, AreaRule>> = {
  live: { category: 'health', get: true, post: false, contentType: 'text/plain' },
  ready: { category: 'health', get: true, post: false, contentType: 'text/plain' },
  'model-ready': { category: 'health', get: true, post: false, contentType: 'text/plain' },
  'server-metadata': { category: 'metadata', get: true, post: false, contentType: JSON_TYPE },
  'model-metadata': { category: 'metadata', get: true, post: false, contentType: JSON_TYPE },
  config: { category: 'model-config', get: true, post: false, contentType: JSON_TYPE },
  infer: { category: 'inference', get: false, post: true, contentType: 'text/plain' },
  generate: { category: 'inference', get: false, post: true, contentType: JSON_TYPE },
  'generate-stream': { category: 'inference', get: false, post: true, contentType: JSON_TYPE },
  statistics: { category: 'statistics', get: true, post: false, contentType: JSON_TYPE },
  index: { category: 'model-repository', get: false, post: true, contentType: JSON_TYPE },
  load: { category: 'model-repository', get: false, post: true, contentType: JSON_TYPE },
  unload: { category: 'model-repository', get: false, post: true, contentType: JSON_TYPE },
  trace: { category: 'trace', get: true, post: true, contentType: JSON_TYPE },
  logging: { category: 'logging', get: true, post: true, contentType: JSON_TYPE },
  'shared-memory-status': { category: 'shared-memory', get: true, post: false, contentType: JSON_TYPE },
  'shared-memory-register': { category: 'shared-memory', get: false, post: true, contentType: JSON_TYPE },
  'shared-memory-unregister': { category: 'shared-memory', get: false, post: true, contentType: JSON_TYPE },
  openapi: { category: 'metadata', get: true, post: false, contentType: JSON_TYPE },
};

const MODEL_ACTIONS: Readonly<Record<string, HttpArea>> = {
  infer: 'infer',
  generate: 'generate',
  generate_stream: 'generate-stream',
  ready: 'model-ready',
  config: 'config',
  stats: 'statistics',
};

const FIXED: ReadonlyMap<string, HttpRoute> = new Map(
  (
    [
      ['/v2', 'server-metadata'],
      ['/v2/health/live', 'live'],
      ['/v2/health/ready', 'ready'],
      ['/v2/models/stats', 'statistics'],
      ['/v2/logging', 'logging'],
      ['/v2/trace/setting', 'trace'],
      ['/v2/repository/index', 'index'],
      [OPENAPI_PATH, 'openapi'],
    ] as const
  ).map(([path, area]) => [path, { area, model: '', version: '' }]),
);

/** The route of a path, undefined for one that is not known (spec: wire protocol, section 1.5). */
export function routeOf(path: string): HttpRoute | undefined {
  const fixed = FIXED.get(path);
  if (fixed !== undefined) return fixed;
  const [empty, v2, first, ...rest] = path.split('/');
  if (empty !== '' || v2 !== 'v2') return undefined;
  switch (first) {
    case 'models':
      return modelRoute(rest);
    case 'repository':
      return repositoryRoute(rest);
    case 'systemsharedmemory':
      return sharedMemoryRoute('system', rest);
    case 'cudasharedmemory':
      return sharedMemoryRoute('cuda', rest);
    default:
      return undefined;
  }
}

function modelRoute(segments: readonly string[]): HttpRoute | undefined {
  const [model = '', ...rest] = segments;
  if (model === '') return undefined;
  let version = '';
  if (rest[0] === 'versions') {
    version = rest[1] ?? '';
    if (!/^\d+$/.test(version)) return undefined;
    rest.splice(0, 2);
  }
  if (rest.length === 0) return { area: 'model-metadata', model, version };
  if (rest.length === 2 && rest[0] === 'trace' && rest[1] === 'setting') {
    return version === '' ? { area: 'trace', model, version } : undefined;
  }
  const action = rest[0] as string;
  if (rest.length > 1 || !Object.hasOwn(MODEL_ACTIONS, action)) return undefined;
  return { area: MODEL_ACTIONS[action] as HttpArea, model, version };
}

function repositoryRoute(segments: readonly string[]): HttpRoute | undefined {
  if (segments.length === 2 && segments[1] === 'index')
    return named({ area: 'index', model: '', version: '' }, segments[0]);
  const action = segments.at(-1);
  if (action !== 'load' && action !== 'unload') return undefined;
  const model = segments.at(-2) ?? '';
  if (model === '' || segments.at(-3) !== 'models') return undefined;
  const route: HttpRoute = { area: action, model, version: '' };
  if (segments.length === 3) return route;
  return segments.length === 4 ? named(route, segments[0]) : undefined;
}

function named(route: HttpRoute, repository: string | undefined): HttpRoute | undefined {
  return repository === undefined || repository === '' ? undefined : { ...route, repository };
}

function sharedMemoryRoute(kind: 'system' | 'cuda', segments: readonly string[]): HttpRoute | undefined {
  let region = '';
  const rest = [...segments];
  if (rest.length === 3 && rest[0] === 'region') {
    region = rest[1] as string;
    if (region === '') return undefined;
    rest.splice(0, 2);
  }
  const [action] = rest;
  if (rest.length !== 1 || (action !== 'status' && action !== 'register' && action !== 'unregister')) return undefined;
  return { area: `shared-memory-${action}`, model: '', version: '', kind, region };
}
