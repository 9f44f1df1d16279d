import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { arbitraryConfig } from './arbitrary-config.test.helper.js';
import { formatPbtxt } from './format-pbtxt.js';
import { readPbtxt } from './read-pbtxt.js';
import { writePbtxt } from './write-pbtxt.js';

const format = (text: string): string => formatPbtxt(Buffer.from(text));

test('without comments the canonical form is what protobuf prints', () => {
  fc.assert(
    fc.property(arbitraryConfig, (config) => {
      const text = writePbtxt(config);
      assert.equal(format(text), text);
    }),
    { numRuns: 60 },
  );
});

test('comments anywhere are kept, each once, and formatting twice changes nothing more', () => {
  const comment = fc.stringMatching(/^[a-z{}[\]:,"' #-]{0,12}$/);
  fc.assert(
    fc.property(
      arbitraryConfig,
      fc.array(fc.tuple(fc.nat(), comment, fc.boolean()), { maxLength: 8 }),
      (config, notes) => {
        const lines = writePbtxt(config).split('\n');
        const marks = notes.map(([place, text, own], i) => {
          const mark = `# ${i}: ${text}`.trimEnd();
          const at = place % lines.length;
          lines[at] = own ? `${mark}\n${lines[at]}` : `${lines[at]} ${mark}`;
          return mark;
        });
        const source = lines.join('\n');
        const formatted = format(source);
        assert.deepEqual(readPbtxt(formatted).config, config);
        assert.equal(format(formatted), formatted);
        for (const i of marks.keys()) assert.equal(formatted.split(`# ${i}: `).length, source.split(`# ${i}: `).length);
      },
    ),
    { numRuns: 100 },
  );
});

const SOURCE = `# Copyright

# what it is
max_batch_size : 010 ; # octal
name : 'a' "b"   # two parts

input [ # the images
  { # one
    dims: [ 3, # channels
            224, 224 ],
    # which type
    name: "I", data_type: 11 # by number
    # nothing more
  },
  # the second
  { name: "J" }
] # that is all
output: [] # none
parameters: { value: { string_value: "2" }, key: "b" }
parameters { key: "a" value: { string_value: "1" } }
dynamic_batching < preserve_ordering: t >
# the end
`;

const CANONICAL = `# Copyright

name: "ab"  # two parts
# what it is
max_batch_size: 8  # octal

# the images
input {  # one
  # which type
  name: "I"
  data_type: TYPE_FP32  # by number
  dims: 3  # channels
  dims: 224
  dims: 224
  # nothing more
}
# the second
input {
  name: "J"
}  # that is all
dynamic_batching {
  preserve_ordering: true
}
parameters {
  key: "a"
  value {
    string_value: "1"
  }
}
# none
parameters {
  key: "b"
  value {
    string_value: "2"
  }
}
# the end
`;

test('an example', () => {
  assert.equal(format(SOURCE), CANONICAL);
  assert.equal(format(CANONICAL), CANONICAL);
});

test('what says nothing stays when somebody wrote it', () => {
  assert.equal(format('max_batch_size: 0 optimization { }'), 'max_batch_size: 0\noptimization {\n}\n');
  assert.equal(format(''), '');
  assert.equal(format('\n\n# only a comment\n\n'), '# only a comment\n');
});
