import { TritonError } from '../base/error.js';

/** The end of a run of the image client: the line for stderr, without the newline; the exit status is 1. */
export class ImageClientFailure extends TritonError {
  override readonly name = 'ImageClientFailure';

  constructor(message: string) {
    super('INTERNAL', message);
  }
}
