import type { ProjectRef } from './api-route.ts';
import { html, type Html } from '../../base/html.ts';

/** For somebody who is not signed in. */
export function welcomePage(): Html {
  return html`<h1>Millrace</h1>
    <p class="soft">This event pipeline is running.</p>
    <section>
      <h2>Sign in</h2>
      <p>
        Open a one-time link in this browser: the first start printed one, an admin can make one for you, and on the
        machine that holds the data directory this prints a new one:
      </p>
      <pre><code>npx millrace login</code></pre>
      ${keyForm()}
    </section>
    <p><a href="/api/docs">API reference</a></p>`;
}

/** The way in without a link. */
function keyForm(): Html {
  return html`<p>
      A personal API key with scope <code>*</code> signs its user in as well, for 12 hours. To make one there:
    </p>
    <pre><code>npx millrace keys create</code></pre>
    <form method="post" action="/login">
      <label for="key">Personal API key</label>
      <input id="key" name="key" type="password" autocomplete="off" required placeholder="phx_…" />
      <button type="submit">Sign in</button>
    </form>`;
}

/** For somebody who is: projects with their keys, a first event, a form for a personal key. */
export function startPage(projects: readonly ProjectRef[], origin: string): Html {
  return html`<h1>Millrace</h1>
    <p class="soft">Your projects and what you need to use them.</p>
    <section class="notice">
      <p>The console is not built here. In the folder of the program:</p>
      <pre><code>npm ci && node tools/build-console.js</code></pre>
      <p>Then start the service again.</p>
    </section>
    ${projects.map((project) => projectCard(project, origin))}
    <section>
      <h2>New personal API key</h2>
      <p class="soft">For the management API and the command line. It is shown once.</p>
      <form method="post" action="/keys">
        <label for="label">What it is for</label>
        <input id="label" name="label" maxlength="40" required placeholder="My laptop" />
        <label for="access">What it may do</label>
        <select id="access" name="access">
          <option value="plugins">Read and change plugin configs</option>
          <option value="all">Everything in the organisation</option>
        </select>
        <button type="submit">Create key</button>
      </form>
    </section>
    <p><a href="/api/docs">API reference</a></p>
    <form method="post" action="/logout"><button type="submit">Sign out</button></form>`;
}

function projectCard(project: ProjectRef, origin: string): Html {
  const event = JSON.stringify({
    api_key: project.apiToken,
    batch: [{ event: 'first event', distinct_id: 'me', properties: {} }],
  });
  const command = `curl ${origin}/batch/ -H 'Content-Type: application/json' -d '${event}'`;
  return html`<section>
    <h2>${project.name}</h2>
    <p class="soft">Project ${project.id} · ${project.timezone}</p>
    <p>Project key: <code class="key">${project.apiToken}</code></p>
    <p>Send a first event:</p>
    <pre><code>${command}</code></pre>
  </section>`;
}

/** The one time that a key is shown. */
export function newKeyPage(value: string, origin: string): Html {
  return html`<h1>Your new key</h1>
    <section class="notice">
      <p>Copy it now: it is not shown again.</p>
      <pre><code class="key">${value}</code></pre>
      <p>Try it:</p>
      <pre><code>curl ${origin}/api/projects/ -H 'Authorization: Bearer ${value}'</code></pre>
    </section>
    <p><a href="/">Back</a></p>`;
}

/** Behind a one-time link: only the button spends it. */
export function loginButton(token: string): Html {
  return html`<h1>Sign in to Millrace</h1>
    <section>
      <p>This link works once.</p>
      <form method="post" action="/login">
        <input type="hidden" name="token" value="${token}" />
        <button type="submit">Sign in</button>
      </form>
    </section>`;
}

export function loginFailed(): Html {
  return html`<h1>This link does not work any more</h1>
    <section>
      <p>
        It has been used, its time has passed, or the user may not come in any more. Links work once. Ask an admin for
        another one, or, on the machine that holds the data directory:
      </p>
      <pre><code>npx millrace login</code></pre>
      ${keyForm()}
    </section>
    <p><a href="/">Start page</a></p>`;
}

export function messagePage(title: string, text: string): Html {
  return html`<h1>${title}</h1>
    <section><p>${text}</p></section>
    <p><a href="/">Back</a></p>`;
}
