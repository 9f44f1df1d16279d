import { testPages } from './test-pages.js';

testPages('tools.test.ts');
