import { getSystemErrorMap } from 'node:util';
import { UnreadableFileError } from './read-regular-file.js';

/** The C library's words for a system error. */
export function systemText(reason: unknown): string {
  if (reason instanceof UnreadableFileError) return reason.reason;
  const { code, errno } = reason as NodeJS.ErrnoException;
  const known = code === undefined ? undefined : SYSTEM_TEXTS[code];
  if (known !== undefined) return known;
  return getSystemErrorMap().get(errno ?? 0)?.[1] ?? code ?? String(reason);
}

const SYSTEM_TEXTS: Readonly<Record<string, string>> = {
  ENOENT: 'No such file or directory',
  EACCES: 'Permission denied',
  EPERM: 'Operation not permitted',
  EISDIR: 'Is a directory',
  ENOTDIR: 'Not a directory',
  EMFILE: 'Too many open files',
  ENAMETOOLONG: 'File name too long',
  ELOOP: 'Too many levels of symbolic links',
  ENOSPC: 'No space left on device',
  EPIPE: 'Broken pipe',
  EAGAIN: 'Resource temporarily unavailable',
  EIO: 'Input/output error',
  EDQUOT: 'Disk quota exceeded',
};
