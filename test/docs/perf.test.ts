import { testPages } from './test-pages.js';

testPages('perf.test.ts');
