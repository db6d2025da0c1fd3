import { tempMetadata } from '../../../test/support/metadata.ts';
import { testTasks } from '../../../test/conformance/tasks/tasks.ts';

testTasks(tempMetadata);
