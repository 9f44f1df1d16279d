/** Brings configuration files into their canonical form. */
import { chmod, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { formatPbtxt } from '../modelconfig/pbtxt/format-pbtxt.js';
import { readPbtxt } from '../modelconfig/pbtxt/read-pbtxt.js';
import { type ReportedError, reportedErrors } from '../modelconfig/pbtxt/reported-errors.js';

/** What became of one file. */
export interface FormattedFile {
  readonly file: string;
  readonly outcome: 'unchanged' | 'changed' | 'unreadable';
  /** Why a file is left as it is. */
  readonly errors: readonly ReportedError[];
}

/**
 * The configuration files that a path stands for: the file itself; of a model its config.pbtxt and configs/*.pbtxt; of a
 * repository those of its models.
 */
export async function configFilesOf(place: string): Promise<string[]> {
  if (!(await stat(place)).isDirectory()) return [place];
  const own = await configFilesIn(place);
  if (own.length > 0) return own;
  const files: string[] = [];
  for (const entry of (await readdir(place, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entry.isDirectory()) files.push(...(await configFilesIn(path.join(place, entry.name))));
  }
  return files;
}

async function configFilesIn(model: string): Promise<string[]> {
  const isFile = async (file: string): Promise<boolean> => (await stat(file).catch(() => undefined))?.isFile() ?? false;
  const main = path.join(model, 'config.pbtxt');
  const folder = path.join(model, 'configs');
  const custom = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.pbtxt')).sort();
  const files = [main, ...custom.map((name) => path.join(folder, name))];
  const kept = await Promise.all(files.map(isFile));
  return files.filter((_, i) => kept[i]);
}

/** Formats one file; only `write` changes it, and then at once or not at all. */
export async function formatConfigFile(file: string, write: boolean): Promise<FormattedFile> {
  const before = await readFile(file);
  const formatted = formatConfigText(before);
  if (typeof formatted !== 'string') return { file, outcome: 'unreadable', errors: formatted };
  if (before.equals(Buffer.from(formatted))) return { file, outcome: 'unchanged', errors: [] };
  if (write) await replace(file, formatted);
  return { file, outcome: 'changed', errors: [] };
}

/** The canonical text, or why the text cannot be read. Throws when formatting would change what the text means. */
export function formatConfigText(text: Uint8Array): string | readonly ReportedError[] {
  const before = readPbtxt(text);
  if (before.errors.length > 0) return reportedErrors(before.errors, text);
  const formatted = formatPbtxt(text);
  if (!isDeepStrictEqual(readPbtxt(formatted).config, before.config)) {
    throw new Error('formatting would change the configuration; it was left as it is');
  }
  return formatted;
}

async function replace(file: string, text: string): Promise<void> {
  const temporary = `${file}.triton-unfinished-${process.pid}`;
  try {
    await writeFile(temporary, text, { flag: 'wx' });
    await chmod(temporary, (await stat(file)).mode);
    await rename(temporary, file);
  } catch (reason) {
    await rm(temporary, { force: true });
    throw reason;
  }
}
