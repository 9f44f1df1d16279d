import { testPages } from './test-pages.js';

testPages('serving.test.ts');
