/** Proxies out of the environment, as other programs read it. */

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxy for an address: `HTTP_PROXY` or `HTTPS_PROXY` (for https addresses, else the one for http), unless
 * `NO_PROXY` names the host. The names in small letters count first. Throws for a proxy that is not a URL.
 */
export function proxyFor(url: URL, environment: Environment): URL | undefined {
  const value = (name: string): string => environment[name.toLowerCase()] || environment[name] || '';
  const proxy = (url.protocol === 'https:' && value('HTTPS_PROXY')) || value('HTTP_PROXY');
  if (proxy === '' || isExempt(url, value('NO_PROXY'))) return undefined;
  const parsed = URL.canParse(proxy) ? new URL(proxy) : undefined;
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol)) {
    throw new Error(`the proxy '${proxy}' of the environment is not an address like http://host:port`);
  }
  return parsed;
}

/** `NO_PROXY`: hosts separated by commas or blanks, each with its sub-domains, some with a port; `*` = all. */
function isExempt(url: URL, list: string): boolean {
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return list.split(/[\s,]+/).some((entry) => {
    if (entry === '*') return true;
    const [, name = '', wanted] = /^(.*?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? [];
    const host = name.replace(/^\*?\./, '');
    if (host === '' || (wanted !== undefined && wanted !== port)) return false;
    return url.hostname === host || url.hostname.endsWith(`.${host}`);
  });
}
