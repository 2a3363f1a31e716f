"""A node for the tests of the ros2 commands: a topic, a service, a parameter and an action."""

import time

from nav2_msgs.action import Wait
import rclpy
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from std_msgs.msg import String
from std_srvs.srv import Trigger


def main():
    """Run the node until it is told to stop."""
    rclpy.init()
    node = rclpy.create_node('wait_node')
    node.declare_parameter('speed', 0.3)
    publisher = node.create_publisher(String, 'chatter', 10)
    node.create_timer(0.1, lambda: publisher.publish(String(data='hello')))

    def answer(request, response):
        response.success, response.message = True, 'well done'
        return response

    node.create_service(Trigger, 'praise', answer)

    def execute(handle):
        for left in range(10 * handle.request.time.sec, 0, -1):
            if handle.is_cancel_requested:
                handle.canceled()
                return Wait.Result()
            feedback = Wait.Feedback()
            feedback.time_left.nanosec = left
            handle.publish_feedback(feedback)
            time.sleep(0.1)
        handle.succeed()
        return Wait.Result(error_msg='none')

    def accept(goal):
        return GoalResponse.ACCEPT if goal.time.sec < 100 else GoalResponse.REJECT

    ActionServer(node, Wait, 'wait', execute, goal_callback=accept,
                 cancel_callback=lambda handle: CancelResponse.ACCEPT)
    executor = MultiThreadedExecutor()
    executor.add_node(node)
    print('up', flush=True)
    try:
        executor.spin()
    except (ExternalShutdownException, KeyboardInterrupt):
        pass


if __name__ == '__main__':
    main()
