import path from 'node:path';

/**
 * True when a file name out of a configuration, appended to a directory, does not lead out of it (an absolute name is
 * appended too). It judges the name alone: links inside a repository are followed, because repositories are commonly
 * made of links, and whoever can place a link there can place a model.
 */
export function staysInside(name: string, folder = ''): boolean {
  const normal = path.posix.normalize(`./${folder}/${name}`);
  return normal !== '..' && !normal.startsWith('../');
}
