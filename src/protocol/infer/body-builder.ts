/** Bodies up to this size become one block: copying them costs less than a chunk more in every layer below. */
const COALESCE_BYTES = 4096;

/** Text is encoded when it has reached this many characters. */
const FLUSH_LENGTH = 64 * 1024;

/** A body of the binary tensor data extension: a JSON part and blobs behind it. */
export interface BuiltBody {
  readonly contentType: string;
  readonly headerLength: number | undefined;
  readonly chunks: Uint8Array[];
  readonly byteLength: number;
}

/** Collects the JSON part (texts, and byte strings inside it) and the blobs of a body. */
export class BodyBuilder {
  #text = '';
  /** Finished pieces of the JSON part; only bodies with byte strings have any. */
  readonly #json: Uint8Array[] = [];
  readonly #blobs: Uint8Array[] = [];
  #blobBytes = 0;

  /** Adds text to the JSON part. */
  text(text: string): void {
    this.#text += text;
    // One huge string would have a limit of its own, and would be encoded in one go at the end.
    if (this.#text.length > FLUSH_LENGTH) this.#flush();
  }

  /** Adds bytes to the JSON part that need not be UTF-8. */
  bytes(bytes: Uint8Array): void {
    this.#flush();
    this.#json.push(bytes);
  }

  /** Adds a blob behind the JSON part. */
  blob(data: Uint8Array): void {
    if (data.length === 0) return;
    this.#blobs.push(data);
    this.#blobBytes += data.length;
  }

  finish(): BuiltBody {
    const small = this.#json.length === 0 && this.#text.length + this.#blobBytes <= COALESCE_BYTES;
    return small ? this.#oneBlock() : this.#manyBlocks();
  }

  #oneBlock(): BuiltBody {
    const text = this.#text;
    // A UTF-16 unit takes at most three bytes.
    const block = Buffer.allocUnsafe(text.length * 3 + this.#blobBytes);
    const jsonBytes = block.write(text, 0, 'utf8');
    let length = jsonBytes;
    for (const blob of this.#blobs) {
      block.set(blob, length);
      length += blob.length;
    }
    return this.#built(jsonBytes, [block.subarray(0, length)], length);
  }

  #manyBlocks(): BuiltBody {
    this.#flush();
    let jsonBytes = 0;
    for (const piece of this.#json) jsonBytes += piece.length;
    return this.#built(jsonBytes, [...this.#json, ...this.#blobs], jsonBytes + this.#blobBytes);
  }

  #built(jsonBytes: number, chunks: Uint8Array[], byteLength: number): BuiltBody {
    return this.#blobBytes > 0
      ? { contentType: 'application/octet-stream', headerLength: jsonBytes, chunks, byteLength }
      : { contentType: 'application/json', headerLength: undefined, chunks, byteLength };
  }

  #flush(): void {
    if (this.#text === '') return;
    this.#json.push(Buffer.from(this.#text, 'utf8'));
    this.#text = '';
  }
}
