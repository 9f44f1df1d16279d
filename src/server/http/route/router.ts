import type { HttpEndpoint, HttpRoute } from './endpoint.js';

/** Paths whose routes are remembered; clients ask for few, and a flood of others only empties the memory. */
const MAX_KNOWN_ROUTES = 1024;

/** An endpoint whose path has parameters. */
interface Pattern {
  readonly endpoint: HttpEndpoint;
  readonly segments: readonly string[];
}

/** Finds the endpoint of a path. A path without parameters goes before one with parameters, else the table's order counts. */
export class Router {
  readonly #fixed = new Map<string, HttpRoute>();
  /** By number of segments. */
  readonly #patterns = new Map<number, Pattern[]>();
  readonly #known = new Map<string, HttpRoute>();

  constructor(endpoints: readonly HttpEndpoint[]) {
    for (const endpoint of endpoints) {
      const { path } = endpoint;
      if (path.includes('{')) this.#add({ endpoint, segments: path.split('/') });
      else this.#fixed.set(path, { endpoint, model: '', version: '', repository: undefined, region: '' });
    }
  }

  /** The route of a path, undefined for one that is not known. */
  find(path: string): HttpRoute | undefined {
    const known = this.#fixed.get(path) ?? this.#known.get(path);
    if (known !== undefined) return known;
    const segments = path.split('/');
    for (const pattern of this.#patterns.get(segments.length) ?? []) {
      const route = match(pattern, segments);
      if (route === undefined) continue;
      if (this.#known.size >= MAX_KNOWN_ROUTES) this.#known.clear();
      this.#known.set(path, route);
      return route;
    }
    return undefined;
  }

  #add(pattern: Pattern): void {
    const { length } = pattern.segments;
    this.#patterns.set(length, [...(this.#patterns.get(length) ?? []), pattern]);
  }
}

function match({ endpoint, segments }: Pattern, given: readonly string[]): HttpRoute | undefined {
  const found: Record<string, string> = {};
  for (const [i, segment] of segments.entries()) {
    const value = given[i] as string;
    if (!segment.startsWith('{')) {
      if (segment !== value) return undefined;
    } else if (segment === '{version}' ? !/^\d+$/.test(value) : value === '') return undefined;
    else found[segment.slice(1, -1)] = value;
  }
  const { model = '', version = '', repository, region = '' } = found;
  return { endpoint, model, version, repository, region };
}
