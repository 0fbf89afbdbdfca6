// The shaders of the points: where each is, and its shape by how far a pixel is outside of it.

import { LOOKS, type PageLook } from './looks.js';

/** How long a change is shown by a halo. */
export const HALO_MS = 1_800;

/** How far outside of its shape a point p lies (r from the middle, q turned by 45 degrees): the outlines of looks.ts. */
const DISTANCES: Readonly<Record<PageLook, string>> = {
  other: 'min(box(p, vec2(0.66, 0.2)), box(p, vec2(0.2, 0.66)))',
  retired: 'abs(r - 0.5) - 0.2',
  available: 'r - 0.62',
  rented: 'max(abs(p.x) * 0.866 - (p.y - 0.1) * 0.5, p.y - 0.1) - 0.4',
  reserved: 'box(q, vec2(0.54))',
  in_maintenance: 'box(p, vec2(0.54))',
  unrecoverable: 'star(p)',
  lost: 'min(box(q, vec2(0.72, 0.2)), box(q, vec2(0.2, 0.72)))',
};
const OUTSIDE = LOOKS.map((look, shape) => `if (shape == ${shape}) d = ${DISTANCES[look]};`).join('\n  ');

/*
 * A float holds a position to two metres, so each comes in two parts, and the difference to the middle of the map is taken before they
 * are put together.
 */
const VERTEX = `#version 300 es
in vec2 high; in vec2 low; in float changed;
uniform vec2 centreHigh; uniform vec2 centreLow; uniform vec2 scale; uniform float shift;
uniform float size; uniform float now;
out float halo; out float side;
void main() {
  vec2 away = (high - centreHigh) + (low - centreLow) + vec2(shift, 0.0);
  gl_Position = vec4(away.x * scale.x, -away.y * scale.y, 0.0, 1.0);
  halo = clamp(1.0 - (now - changed) / ${HALO_MS.toFixed(1)}, 0.0, 1.0);
  side = size * (halo > 0.0 ? 3.2 : 1.0);
  gl_PointSize = side;
}`;

const FRAGMENT = `#version 300 es
precision highp float;
in float halo; in float side;
uniform float size; uniform int shape; uniform vec3 fill; uniform vec3 rim;
out vec4 result;
float box(vec2 p, vec2 b) { vec2 d = abs(p) - b; return length(max(d, 0.0)) + min(max(d.x, d.y), 0.0); }
// Five tips at 0.8, the corners between at 0.36: how far beyond the edge that ends at the nearest tip.
float star(vec2 p) {
  float a = abs(mod(atan(p.x, -p.y) + 0.6283185, 1.256637) - 0.6283185);
  return dot(length(p) * vec2(cos(a), sin(a)) - vec2(0.8, 0.0), vec2(0.384, 0.9233));
}
void main() {
  vec2 p = (gl_PointCoord - 0.5) * side / size * 2.0;
  float r = length(p);
  vec2 q = vec2(p.x + p.y, p.y - p.x) * 0.70710678;
  float d;
  ${OUTSIDE}
  float soft = 2.0 / size;
  float inside = 1.0 - smoothstep(-soft, soft * 0.5, d);
  float edge = 1.0 - smoothstep(0.14 - soft, 0.14 + soft, d);
  float ringAt = mix(3.0, 0.9, halo);
  float glow = halo * 0.85 * (1.0 - smoothstep(0.0, 0.28, abs(r - ringAt)));
  float cover = max(edge * 0.96, glow);
  if (cover < 0.01) discard;
  vec3 shown = edge > 0.01 ? mix(rim, fill, inside) : fill;
  result = vec4(shown * cover, cover);
}`;

export function linkShaders(gl: WebGL2RenderingContext): WebGLProgram {
  const program = gl.createProgram();
  for (const [type, source] of [
    [gl.VERTEX_SHADER, VERTEX],
    [gl.FRAGMENT_SHADER, FRAGMENT],
  ] as const) {
    const shader = gl.createShader(type);
    if (shader === null) throw new Error('the browser gives no shader');
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    if (gl.getShaderParameter(shader, gl.COMPILE_STATUS) !== true) throw new Error(gl.getShaderInfoLog(shader) ?? '');
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (gl.getProgramParameter(program, gl.LINK_STATUS) !== true) throw new Error(gl.getProgramInfoLog(program) ?? '');
  return program;
}
