import { type Dirent, existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';

/**
 * A second sentence for a repository path that is probably not the one that was meant: nothing there, a file, one
 * model's directory, a version's directory, or a directory above repositories. Undefined when the path looks like a repository.
 * `named`: how the user names the directory that was probably meant.
 */
export function repositoryHint(
  repository: string,
  named: (directory: string) => string = (directory) => `--model-repository=${directory}`,
): string | undefined {
  if (/^[a-z][a-z0-9]*:\/\//.test(repository)) return undefined;
  if (!existsSync(repository)) return missingHint(repository, named);
  if (!statSync(repository).isDirectory()) {
    return `'${repository}' is a file; a model repository is a directory of model directories.`;
  }
  const entries = list(repository);
  if (entries === undefined) return `'${repository}' cannot be read by this user.`;
  if (looksLikeModel(repository)) {
    return `'${repository}' is the directory of one model; the repository is the directory above: ${named(above(repository))}`;
  }
  if (/^\d+$/.test(path.basename(path.resolve(repository))) && holdsModelFile(entries)) {
    return `'${repository}' is a version of one model; the repository is two directories above: ${named(above(above(repository)))}`;
  }
  const folders = entries.filter((entry) => entry.isDirectory()).map((entry) => path.join(repository, entry.name));
  if (folders.length === 0 || folders.some(looksLikeModel)) return undefined;
  const repositories = folders.filter((folder) => childFolders(folder).some(looksLikeModel));
  if (repositories.length === 0) return undefined;
  return (
    `'${repository}' holds no models itself, but ${repositories.length === 1 ? 'this directory in it does' : 'these directories in it do'}: ` +
    repositories.map(named).join(' ')
  );
}

/** True when a repository holds no directory at all, so that a server on it would have no models. */
export function isEmptyRepository(repository: string): boolean {
  const entries = list(repository);
  return entries !== undefined && !entries.some((entry) => entry.isDirectory());
}

function missingHint(repository: string, named: (directory: string) => string): string {
  let parent = path.resolve(repository);
  do parent = path.dirname(parent);
  while (!existsSync(parent));
  if (looksLikeRepository(parent)) {
    return `There is no '${repository}', but '${parent}' holds models: ${named(parent)}`;
  }
  const near = childFolders(parent).filter(looksLikeRepository);
  const beside =
    near.length === 0 ? '' : ` Model repositories there: ${near.map((folder) => `'${folder}'`).join(', ')}.`;
  return `There is no such directory; the nearest that exists is '${parent}'.${beside}`;
}

function looksLikeRepository(folder: string): boolean {
  return childFolders(folder).some(looksLikeModel);
}

/** A configuration, or a version's directory with a model file in it. */
function looksLikeModel(folder: string): boolean {
  const entries = list(folder) ?? [];
  if (entries.some((entry) => entry.name === 'config.pbtxt')) return true;
  return entries.some(
    (entry) =>
      entry.isDirectory() && /^\d+$/.test(entry.name) && holdsModelFile(list(path.join(folder, entry.name)) ?? []),
  );
}

function holdsModelFile(entries: readonly Dirent[]): boolean {
  return entries.some((entry) => /^model\.\w+$/.test(entry.name));
}

function childFolders(folder: string): string[] {
  const entries = list(folder) ?? [];
  return entries.filter((entry) => entry.isDirectory()).map((entry) => path.join(folder, entry.name));
}

/** The directory above, in the form in which the path was given. */
function above(folder: string): string {
  const parent = path.join(folder, '..');
  return parent === '' ? '.' : parent;
}

function list(folder: string): Dirent[] | undefined {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return undefined;
  }
}
