// What `millrace` is in the shell of command-shell.ts: hands its words to the test's process and shows what comes back.
import { connect } from 'node:net';

const [socket, ...args] = process.argv.slice(2);
const answer = [];
connect(socket)
  .on('data', (chunk) => answer.push(chunk))
  .on('end', () => {
    const { code, stdout, stderr } = JSON.parse(Buffer.concat(answer).toString());
    process.stdout.write(stdout);
    process.stderr.write(stderr);
    process.exitCode = code;
  })
  .end(JSON.stringify({ args, cwd: process.cwd(), env: process.env }));
