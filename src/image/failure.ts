/** The end of a run of the image client: the line for stderr, without the newline; the exit status is 1. */
export class ImageClientFailure extends Error {
  override readonly name = 'ImageClientFailure';
}
